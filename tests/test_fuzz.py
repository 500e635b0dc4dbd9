"""Every reader of foreign files under a fuzzer: from a fixed seed here, by chance and longer in the slow test."""

import re

import fuzz
import pytest

pytest.importorskip("atheris", reason="atheris is made for Linux: nothing is fuzzed elsewhere")

SECONDS = 8


def check(loader, flags, folder):
    done = fuzz.start(loader, flags, artifacts=folder)
    inputs = {path.name: path.read_bytes()[:200] for path in folder.iterdir()}
    assert done.returncode == 0, f"{inputs}\n{done.stdout[-5000:]}"
    return int(re.search(r"^Done (\d+) runs", done.stdout, re.MULTILINE)[1])


@pytest.mark.parametrize("loader", fuzz.LOADERS)
def test_only_errors_of_this_package_escape(loader, tmp_path):
    """From a fixed seed: who runs into a failure can run into it again."""
    assert check(loader, ["-seed=1", f"-max_total_time={SECONDS}"], tmp_path) > 0


@pytest.mark.slow
@pytest.mark.parametrize("loader", fuzz.LOADERS)
def test_only_errors_of_this_package_escape_for_ten_minutes(loader, tmp_path):
    """Other inputs each time: what is found is kept in the test's folder."""
    check(loader, ["-max_total_time=600"], tmp_path)
