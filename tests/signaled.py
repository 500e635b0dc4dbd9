"""Processes seen from outside: on a terminal, or signaled by themselves at a known slice of their training.

So no test depends on the machine's speed.
"""

import os
import subprocess
import sys

SCRIPT = """
import itertools, os, signal, sys, time
from w2vtrain import cli
from w2vtrain.training import run_folder

receiver = {"itself": os.getpid(), "parent": os.getppid(), "nobody": None}[sys.argv[1]]
steps = {int(slice): signal.Signals[name] for slice, name in (step.split(":") for step in sys.argv[2].split(","))}
slices, due = itertools.count(1), run_folder.Run.due


def signaled(self):
    number = steps.get(next(slices))
    if number == signal.SIGKILL:  # at any moment of the checkpoint that is being written
        os.kill(os.getpid(), number)
    if number is not None:
        while self.writer.busy:
            time.sleep(0.001)
        if receiver:
            os.kill(receiver, number)
        while not (self.saving if number == signal.SIGUSR1 else self.stopping):  # the main thread has yet to handle it
            time.sleep(0.001)
    return due(self)


run_folder.Run.due = signaled  # asked after each slice, of which every epoch has at least 8
sys.argv[1:] = sys.argv[3:]
cli.main()
"""


def shown_on(terminal):
    """Return the bytes that a pseudo-terminal shows until its other side is closed, and close it."""
    shown = b""
    try:
        while data := os.read(terminal, 65536):
            shown += data
    except OSError:  # Linux says so when the other side has closed
        pass
    os.close(terminal)
    return shown


def signaled(words, steps, receiver="itself"):
    """Return the command that runs `w2vtrain` with these words and sends signals after some of its slices.

    words: as `[sys.executable, "-m", "w2vtrain", ...]`; steps: "3:SIGUSR1,5:SIGINT", counted from 1 at each start;
    receiver: "itself", "parent", or "nobody": then training waits there for the signal to come from elsewhere.
    A signal other than SIGKILL is sent once the checkpoint before it is written, and handled before training continues:
    with `--checkpoint-every 0`, a run stopped after its second slice or a later one leaves at least two checkpoints.
    """
    return [sys.executable, "-c", SCRIPT, receiver, steps, *map(str, words[3:])]


def run_signaled(words, steps):
    """Run to the end; return the exit code and what the run wrote to stderr."""
    done = subprocess.run(signaled(words, steps), capture_output=True, text=True, check=False, timeout=600)
    return done.returncode, done.stderr
