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

settings.register_profile("shared machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("shared machine")

# A shell's background jobs ignore SIGINT, nohup's SIGHUP; so would every process that a test starts and signals.
for number, handler in ((signal.SIGINT, signal.default_int_handler), (getattr(signal, "SIGHUP", None), signal.SIG_DFL)):
    if number is not None and signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, handler)

# Loading gives classes the defaults of their contracts, which tests that make instances by hand rely on.
objectives()
LAYOUT = Layout(5, 16, 16)
ARCHITECTURES = {name: cls for name, cls in architectures().items() if not cls.build(LAYOUT, {}).learned()}


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture(params=ARCHITECTURES)
def architecture(request):
    """(name, constructor of window) of every architecture that learns nothing but rows."""
    return request.param, lambda window: ARCHITECTURES[request.param].build(Layout(window, 16, 16), {})


@pytest.fixture
def w2vtrain_here(monkeypatch, capsys):
    """Return a function that runs the command line in this process: (words, folder) -> exit code, stdout, stderr.

    A second saved for each process that a test does not need.
    """

    def here(words, folder):
        with monkeypatch.context() as patch:
            patch.chdir(folder)
            patch.setattr(sys, "argv", ["w2vtrain", *map(str, words)])
            patch.setattr(shell, "leave", sys.exit)
            with pytest.raises(SystemExit) as end:
                cli.main()
        said = capsys.readouterr()
        return end.value.code, said.out, said.err

    return here


@pytest.fixture(autouse=True, scope="session")
def _python_twins_may_overflow():
    """uint64 arithmetic wraps around; NumPy's scalars warn where compiled code does not."""
    with np.errstate(over="ignore"):
        yield
