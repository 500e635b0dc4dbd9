"""Sizes and durations are printed in suitable units."""

import pytest

from w2vtrain.system.amounts import duration, size_text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0 s"), (0.04, "0.04 s"), (0.31, "0.31 s"), (0.996, "1.0 s"), (9.94, "9.9 s"), (9.96, "10 s"),
        (59.4, "59 s"), (59.7, "1:00 min"), (125, "2:05 min"), (3723, "1:02:03 h"),
    ],
)  # fmt: skip
def test_durations(seconds, text):
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0.0 KiB"), (12_800, "12.5 KiB"), (3 << 20, "3.0 MiB"), (9.96 * 2**20, "10 MiB"), (1234 << 20, "1,234 MiB"),
        (12_000 << 20, "11.7 GiB"),
    ],
)  # fmt: skip
def test_sizes(size, text):
    assert size_text(size) == text
