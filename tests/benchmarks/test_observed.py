"""A measurement: the round trips around its job, and the figures computed from them."""

from dataclasses import replace

import observed
import pytest

from w2vtrain.evaluation import measure
from w2vtrain.evaluation.systems import Job

NEAR, FAR = 3e-8, 1.6e-7


@pytest.fixture
def measured(monkeypatch):
    """Return a function that measures a job of two threads, which does nothing, between two given round trips."""

    def run(job, *trips, cores=2):
        found, happened = iter(trips), []

        def train(*_):
            happened.append("job")
            training, whole = {"training_cpu": 2.0, "training_wall": 1.0}, {"whole_cpu": 3.0, "whole_wall": 2.0}
            return {"words": 10, "peak_memory": 1, **training, **whole}

        def round_trip():
            happened.append("round trip")
            return next(found)

        monkeypatch.setattr(measure, "run_child", train)
        monkeypatch.setattr(observed, "round_trip", round_trip)
        monkeypatch.setattr(measure, "read_vectors", lambda _: None)
        monkeypatch.setattr(measure, "evaluate", lambda *_: {})
        monkeypatch.setattr(observed, "automatic_threads", lambda: (cores, ""))
        return observed.observe(job), happened

    return run


JOB = Job("gensim", "cbow", "neg", "corpus", threads=2)


@pytest.mark.parametrize(
    ("before", "after", "cores"),
    [
        (NEAR, NEAR, "near"), (FAR, FAR, "far"), (NEAR, FAR, "mixed"), (FAR, NEAR, "mixed"), (1e-7, 1e-7, "far"),
        (None, None, None), (FAR, None, None), (None, NEAR, None),
    ],
)  # fmt: skip
def test_cores_are_classified_by_the_round_trips_before_and_after_the_job(measured, before, after, cores):
    found, happened = measured(JOB, before, after)
    assert happened == ["round trip", "job", "round trip"]
    assert (found.round_trips, found.cores) == ((before, after), cores)


def test_speeds_and_round_trips_of_a_measurement(measured):
    found, _ = measured(JOB, NEAR, FAR)
    assert (found.speed, found.wall_speed) == (5, 10)
    assert found.round_trip == pytest.approx((NEAR + FAR) / 2)
    assert replace(found, round_trips=(None, FAR)).round_trip == FAR
    assert (found.flops, found.row_speed) == (None, None), "gensim does not report them"
    assert replace(found, row_bytes=6.0).row_speed == 3
    assert found.record()["cores"] == "mixed"


@pytest.mark.parametrize(("threads", "cores"), [(1, 2), (2, 1)])
def test_one_thread_or_core_has_no_round_trip(measured, threads, cores):
    found, happened = measured(replace(JOB, threads=threads), cores=cores)
    assert happened == ["job"]
    assert (found.round_trips, found.round_trip, found.cores) == ((None, None), None, None)
