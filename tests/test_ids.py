"""Ids of test parameters: the rule of ids.py, and that every process collects the suite with the same ids."""

import itertools
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from ids import LONGEST, by_text, make_id

ROOT = Path(__file__).parents[1]
CLOCK = """
import os, time
begun, real = float(os.environ["TIME_BEGUN"]), time.time
offset = begun - real()
time.time = lambda: real() + offset
time.time_ns = lambda: int(1e9 * time.time())
"""
"""A plugin that moves the clock."""

PLACES = [
    {"TIME_BEGUN": "1e9", "PYTHONHASHSEED": "1", "TZ": "Asia/Tokyo", "LC_ALL": "C", "PYTHONUTF8": "0"},
    {"TIME_BEGUN": "2e9", "PYTHONHASHSEED": "2", "TZ": "UTC", "LC_ALL": "C.UTF-8", "COLUMNS": "40"},
]


@pytest.mark.slow
def test_every_process_collects_the_same_tests_in_the_same_order(tmp_path):
    (tmp_path / "clock.py").write_text(CLOCK)
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "clock",
        "-p",
        "no:cacheprovider",
        "--collect-only",
        "-q",
        "-m",
        "",
    ]
    listed = []
    for number, place in enumerate(PLACES):
        environment = {**os.environ, **place, "PYTHONPATH": path}
        with (tmp_path / str(number)).open("wb") as file:
            listed.append((file.name, subprocess.Popen(command, cwd=ROOT, env=environment, stdout=file)))
    assert [process.wait() for _, process in listed] == [0, 0]
    first, second = ([line for line in Path(name).read_text().splitlines() if "::" in line] for name, _ in listed)
    differing = [pair for pair in itertools.zip_longest(first, second) if len(set(pair)) > 1]
    assert not differing[:5]
    assert len(first) > 1000


def named(): ...


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("plain text", None),
        ("caf\u00e9\n", "caf_xe9"),
        ("x" * 999, "x" * LONGEST),
        (0.1 + 0.2, "0.3"),
        (float("nan"), "nan"),
        ({}, "empty"),
        ({"hs": 1, "sizes": [2, None]}, "hs=1,sizes=2,None"),
        (np.float32, "float32"),
        (named, "named"),
        (ValueError("bad"), "ValueError:bad"),
    ],
)
def test_plain_values_have_a_short_id(value, expected):
    assert make_id(value, "x") == expected
    assert by_text(value) == (expected or "plain_text")


@pytest.mark.parametrize(
    "value",
    [b"a", np.ones(2), object(), lambda: None, [b"a"], {"a": np.ones(2)}, partial(named), "\n"],
    ids=["bytes", "array", "object", "lambda", "list", "dict", "partial", "control"],
)
def test_other_values_need_an_explicit_id(value):
    with pytest.raises(pytest.fail.Exception, match=r"parameter: .*ids="):
        make_id(value, "parameter")
    assert 0 < len(by_text(value)) < LONGEST
