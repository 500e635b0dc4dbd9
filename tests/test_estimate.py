"""The speeds from which a dry run estimates the time of an epoch."""

import pytest

from w2vtrain.training.estimate import Estimate, speeds


def reports(threads, slice_words, seconds, count):
    """Return (seconds, words so far) of threads that report a slice whenever they have learned it."""
    at = sorted((seconds * (i + 1 + thread / threads), thread) for thread in range(threads) for i in range(count))
    return [(0.0, 0), *((time, slice_words * (i + 1)) for i, (time, _) in enumerate(at))]


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_the_speed_is_not_affected_by_slices_that_are_not_reported_yet(threads):
    for part in speeds(reports(threads, 1000, 0.5, 30), threads):
        assert part == pytest.approx(threads * 1000 / 0.5, rel=0.05)


def test_few_reports_all_count():
    assert speeds([(0.0, 0), (2.0, 300)], 2) == pytest.approx([150.0] * 3)


def test_the_time_is_that_of_the_mean_speed_over_equal_times():
    found = Estimate(2, 1.0, 1200, 2, 1200, 0.0, {}, speeds=[100.0, 200.0, 300.0])
    assert found.seconds == (6.0, 4.0, 12.0)
