"""Runs in which a thread raises an exception or hangs."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import forked
import pytest
from reference import first_lines

from w2vtrain.training import checkpoint_file

ENGINES = {"windows": ["--objective", "neg"], "blocks": ["--objective", "sampled-softmax"]}

BROKEN = """
import faulthandler, itertools, sys, time
from w2vtrain import cli
from w2vtrain.training import checkpointing, trainer

how, thread, step = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
train_slice, steps = trainer.Trainer.train_slice, itertools.count(1)


def broken(self, order, part, mine):
    if order.epoch < 2 or mine != thread or next(steps) < step:
        return train_slice(self, order, part, mine)
    faulthandler.dump_traceback_later(120, exit=True)  # the run must end soon after its thread breaks
    if how == "raise":
        raise RuntimeError("the thread broke")
    print("it hangs", file=sys.stderr, flush=True)
    time.sleep(1000)


trainer.Trainer.train_slice = broken
# Save after each epoch instead of after each slice, so that all threads get slices.
checkpointing.CheckpointedRun.due = lambda self: False
sys.argv[1:] = sys.argv[4:]
cli.main()
"""


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    return first_lines(1000, tmp_path_factory.mktemp("corpus") / "text.txt")


def fit(text, output, *more):
    settings = ["--epochs", "1000", "--threads", "2", "--vector-size", "16", "--checkpoint-every", "0", "-q"]
    return [str(word) for word in ("fit", text, "-o", output, *settings, *more)]


def broken_run(how, thread, step, arguments):
    words = [sys.executable, "-c", BROKEN, how, str(thread), str(step), *arguments]
    return forked.run(words, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("thread", "step"), [(0, 5), pytest.param(1, 9, marks=pytest.mark.slow)])
def test_an_exception_in_a_thread_ends_the_run_and_is_reported(text, tmp_path, engine, thread, step):
    output = tmp_path / "vectors.bin"
    done = broken_run("raise", thread, step, fit(text, output, *ENGINES[engine]))
    assert done.returncode == 70, done.stderr
    (line,) = done.stderr.splitlines()
    assert "RuntimeError: the thread broke" in line
    assert checkpoint_file.numbers(Path(f"{output}.run"))
    assert not output.exists()


def test_a_run_whose_thread_hangs_ends_on_the_second_interrupt(text, tmp_path):
    output = tmp_path / "vectors.bin"
    words = [sys.executable, "-c", BROKEN, "sleep", "1", "5", *fit(text, output)]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as run:
        assert run.stderr.readline() == "it hangs\n"
        while run.poll() is None:
            run.send_signal(signal.SIGINT)
            time.sleep(0.1)
        assert run.returncode == 130, run.stderr.read()
    assert checkpoint_file.numbers(Path(f"{output}.run"))
    assert not output.exists()
