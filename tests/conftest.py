"""Shared fixtures, and the signal handlers and Hypothesis settings that all tests run with."""

import surroundings  # first: NumPy and Numba read the environment when they are loaded

# isort: split

import gc
import io
import os
import shutil
import signal
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from w2vtrain import cli
from w2vtrain.architectures import architectures
from w2vtrain.architectures.contract import Layout
from w2vtrain.commands import shell
from w2vtrain.objectives import objectives

gc.disable()  # until all tests are collected, because they are no garbage

settings.register_profile("shared machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("shared machine")

# Background jobs of a shell ignore SIGINT, and jobs under nohup ignore SIGHUP. The processes that a test starts would
# inherit this, and tests that signal them would fail.
for number, handler in ((signal.SIGINT, signal.default_int_handler), (getattr(signal, "SIGHUP", None), signal.SIG_DFL)):
    if number is not None and signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, handler)

# The command line must not end pytest, which `leave` does while a thread of an earlier test still runs.
shell.leave = sys.exit

# Loading an objective gives its class the contract's defaults. Tests that build instances by hand rely on them.
objectives()
LAYOUT = Layout(5, 16, 16)
ARCHITECTURES = {
    name: cls for name, cls in architectures().items() if not cls.uses_tags() and not cls.build(LAYOUT, {}).learned()
}

SPARED = {
    "cbow-sum": {"hs", "nce", "bigram-nce"},
    "cbow-corrected": {"hs", "nce", "bigram-nce"},
    "vlbl": {"hs", "bigram-nce"},
    "bigram-nce": {"cbow"},
    "hs-neg": {"skipgram", "cbow", "cbow-corrected", "corrected", "vlbl", "language"},
}
"""Pairs of architecture and objective that only slow tests compile: a kernel takes ten seconds.

cbow-sum and cbow-corrected differ from cbow in factors, bigram-nce differs from nce in its draws, and hs-neg calls the
methods of hs and neg.
"""

COMPOSED_TESTS = {
    "test_every_objective_passes_the_checks_of_objectives_check",
    "test_an_ngram_changes_by_the_sum_of_what_its_words_change",
    "test_the_window_engine_agrees_with_a_trainer_without_a_row_cache",
    "test_resume_gives_the_same_model_as_an_uninterrupted_run",
}
COMPOSED = {"hs-neg", "bigram-nce", "cbow-sum", "cbow-corrected", "corrected"}
"""Tests that run each objective or architecture. Quick runs of them leave out the names in COMPOSED, which are made of
parts of others."""


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config):
    surroundings.restart(config)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        values = item.callspec.params.values() if hasattr(item, "callspec") else ()
        names = {value for value in values if isinstance(value, str)}
        spared = any(one in names and names & {*others, *SPARED} - {one} for one, others in SPARED.items())
        if spared or (item.originalname in COMPOSED_TESTS and names & COMPOSED):
            item.add_marker("slow")


def pytest_collection_finish():
    """Spare later searches for garbage what has been made so far: modules and thousands of tests, which all stay."""
    gc.enable()
    gc.freeze()


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture(params=ARCHITECTURES)
def architecture(request):
    """Return (name, function that builds it for a window size) of each architecture that learns only input rows."""
    return request.param, lambda window: ARCHITECTURES[request.param].build(Layout(window, 16, 16), {})


@pytest.fixture
def w2vtrain_here(monkeypatch, capsys):
    """Return a function that runs the command line in this process: (arguments, folder) -> exit code, stdout, stderr.

    This saves a second per call over starting a process. A third argument, text or bytes, is standard input.
    """

    def here(words, folder, stdin=None):
        with monkeypatch.context() as patch:
            patch.chdir(folder)
            if stdin is not None:
                data = stdin.encode() if isinstance(stdin, str) else stdin
                patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), encoding="utf-8"))
            patch.setattr(sys, "argv", ["w2vtrain", *map(str, words)])
            with pytest.raises(SystemExit) as end:
                cli.main()
        said = capsys.readouterr()
        return end.value.code, said.out, said.err

    return here


@pytest.fixture(scope="module")
def browser():
    """Yield a headless Chromium, driven through Playwright."""
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if not chromium:
        pytest.skip("needs Chromium")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as running:
        try:
            browser = running.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        except playwright.Error as error:
            pytest.skip(f"{chromium} does not start: {error}")
        yield browser
        browser.close()


@pytest.fixture(autouse=True, scope="session")
def _no_wait_for_the_disk():
    """Let fsync only check its descriptor: the suite would spend a minute in it, and no test takes power away.

    Tests of the calls themselves replace it. Processes that tests start wait for the disk, except those of forked.py.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", surroundings.checked)
        yield


@pytest.fixture(autouse=True, scope="session")
def _python_versions_may_overflow():
    """Silence overflow warnings: uint64 arithmetic wraps around, and NumPy scalars warn but compiled code does not."""
    with np.errstate(over="ignore"):
        yield
