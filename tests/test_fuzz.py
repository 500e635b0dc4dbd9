"""Fuzz tests of every reader of untrusted files: short ones with a fixed seed, slow ones with random seeds.

The environment variable FUZZ_MINUTES sets the minutes per reader of the slow ones; the default is 10.
"""

import os
import re

import fuzz
import pytest

RUNS = 60


def check(loaders, flags, folder):
    pytest.importorskip("atheris", reason="atheris, which the fuzz tests need, is only available on Linux")
    done = fuzz.start(loaders, flags, artifacts=folder)
    inputs = {path.name: path.read_bytes()[:200] for path in folder.iterdir()}
    assert done.returncode == 0, f"{inputs}\n{done.stdout[-5000:]}"
    return [int(runs) for runs in re.findall(r"^Done (\d+) runs", done.stdout, re.MULTILINE)]


def test_only_errors_of_this_package_escape(tmp_path):
    """The seed is fixed, so that a failure can be reproduced."""
    runs = check(list(fuzz.LOADERS), ["-seed=1", f"-runs={RUNS}"], tmp_path)
    assert len(runs) == len(fuzz.LOADERS)
    assert min(runs) >= RUNS


@pytest.mark.slow
@pytest.mark.parametrize("loader", fuzz.LOADERS)
def test_only_errors_of_this_package_escape_for_minutes(loader, tmp_path):
    """The inputs differ each time; those that fail are kept in the test's temporary folder."""
    seconds = round(60 * float(os.environ.get("FUZZ_MINUTES", 10)))
    check([loader], [f"-max_total_time={seconds}"], tmp_path)
