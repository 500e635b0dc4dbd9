"""Run w2vtrain with signals at known slices of its training, and read what a process shows on a terminal.

Because the slice is known, no test depends on the speed of the machine.
"""

import os
import struct
import subprocess
import sys

import forked
import pytest

SCRIPT = """
import itertools, os, signal, sys, time
from w2vtrain import cli
from w2vtrain.training import checkpointing

receiver = {"itself": os.getpid(), "parent": os.getppid(), "nobody": None}[sys.argv[1]]
steps = {int(slice): signal.Signals[name] for slice, name in (step.split(":") for step in sys.argv[2].split(","))}
slices, due = itertools.count(1), checkpointing.CheckpointedRun.due


def signaled(self):
    number = steps.get(next(slices))
    if number == signal.SIGKILL:  # at any point while a checkpoint is being written
        os.kill(os.getpid(), number)
    if number is not None:
        while self.writer.busy:
            time.sleep(0.001)
        if receiver:
            os.kill(receiver, number)
        # Wait until the main thread has handled it.
        while not (self.save_requested if number == signal.SIGUSR1 else self.stop_requested):
            time.sleep(0.001)
    return due(self)


checkpointing.CheckpointedRun.due = signaled  # called after each slice; every epoch has at least 8
sys.argv[1:] = sys.argv[3:]
cli.main()
"""


def on_terminal(words, columns=0, **options):
    """Run a command on a pseudo-terminal; return its exit code and what it shows, stdout and stderr together.

    columns: the width of the terminal, 0 for one that does not tell; options: those of subprocess.Popen.
    """
    pty, fcntl, termios = (pytest.importorskip(name) for name in ("pty", "fcntl", "termios"))
    terminal, side = pty.openpty()
    if columns:
        fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    run = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=side, stderr=side, **options)
    os.close(side)
    shown = b""
    try:
        while data := os.read(terminal, 65536):
            shown += data
    except OSError:  # raised by Linux when the other end is closed
        pass
    os.close(terminal)
    return run.wait(300), shown.decode()


def signaled(words, steps, receiver="itself"):
    """Return a command that runs `w2vtrain` with these arguments and sends signals after given slices.

    words: the command line, `[sys.executable, "-m", "w2vtrain", ...]`; steps: such as "3:SIGUSR1,5:SIGINT", slices
    counted from 1 at each start; receiver: "itself", "parent", or "nobody", which makes training wait at that slice for
    a signal from elsewhere. A signal other than SIGKILL is sent after the current checkpoint is written, and training
    continues only after it is handled. So with `--checkpoint-every 0`, a run stopped after its second slice or later
    leaves at least two checkpoints.
    """
    return [sys.executable, "-c", SCRIPT, receiver, steps, *map(str, words[3:])]


def run_signaled(words, steps):
    """Run the command of `signaled` to its end; return the exit code and the output on stderr."""
    done = forked.run(signaled(words, steps), capture_output=True, text=True, check=False, timeout=600)
    return done.returncode, done.stderr
