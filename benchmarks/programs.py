"""Train one benchmark job with word2vec.c or pWord2Vec, programs that the user has compiled.

bench.py runs each job in its own process, by `child`.
"""

import contextlib
import os
import re
import shutil
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from w2vtrain.errors import ConfigError
from w2vtrain.leaves.compare.systems import Job, measured

PROGRAMS = {"word2vec.c": "#CC79A7", "pword2vec": "#009E73"}
"""The names of the programs, and their colors in the plot."""


@dataclass(frozen=True)
class ProgramJob(Job):
    """A job of a program, given by its path."""

    program: str = ""


def child(settings: dict[str, Any], output: str) -> dict[str, Any]:
    """Run one job in this process, write its vectors to the file `output`, and return its measurements."""
    return measured(train_program, ProgramJob(**settings), output)


def train_program(job: ProgramJob, output: str) -> dict[str, Any]:
    """Train with word2vec.c or pWord2Vec, which take the same options and print their progress in percent.

    Training time is measured from the first report of progress to the last, and scaled to the whole training.
    """
    command = [str(job.program), *arguments(job, output)]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
        count, points = _watched(process)
    if process.returncode:
        raise ConfigError(f"{job.program}: ended with exit code {process.returncode}: run it by hand to see why")
    if not points or points[0].done == points[-1].done:
        raise ConfigError(
            f"{job.program}: fewer than two reports of progress, which come every 10,000 words: use more text"
        )
    first, last = points[0], points[-1]
    share, used = last.done - first.done, os.times()
    words = count - _count_lines(job.corpus)  # both programs count the end of a line as a word, </s>
    return {
        "words": words * job.epochs, "training_cpu": (last.cpu - first.cpu) / share,
        "training_wall": (last.wall - first.wall) / share, "whole_cpu": used.children_user + used.children_system,
        "peak_memory": max(point.memory for point in points),
    }  # fmt: skip


def _count_lines(path: str) -> int:
    """Return the number of line ends in a file."""
    with Path(path).open("rb") as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))


def arguments(job: ProgramJob, output: str) -> list[str]:
    """Return the command-line arguments of word2vec.c or pWord2Vec for a job."""
    options: dict[str, Any] = {
        "train": job.corpus, "output": output, "size": job.vector_size, "window": job.window, "sample": job.sample,
        "negative": 0 if job.objective == "hs" else job.negative, "threads": job.threads, "iter": job.epochs,
        "min-count": job.min_count, "binary": 0,
    }  # fmt: skip
    if job.system == "word2vec.c":
        options |= {"cbow": int(job.architecture == "cbow"), "hs": int(job.objective == "hs")}
    if job.alpha:
        options["alpha"] = job.alpha  # after -cbow, which sets a default
    return [text for name, value in options.items() for text in (f"-{name}", str(value))]


class Progress(NamedTuple):
    """A report of progress of a program: the fraction done, CPU and wall-clock seconds, bytes of resident memory."""

    done: float
    cpu: float
    wall: float
    memory: int


def _watched(process: subprocess.Popen[bytes]) -> tuple[int, list[Progress]]:
    """Read the output of a program until it ends. Return the number of training words, and its reports of progress."""
    assert process.stdout
    watched, count, points, rest = psutil.Process(process.pid), 0, [], b""
    while block := os.read(process.stdout.fileno(), 1 << 16):
        rest += block
        if total := re.search(rb"Words in train file: (\d+)\n", rest):
            count = int(total[1])
        if reports := list(re.finditer(rb"Progress: ([\d.]+)%", rest)):
            rest = rest[reports[-1].end() :]  # keep what may be the beginning of the next report
            with contextlib.suppress(psutil.Error):  # the program may have ended
                used, memory = watched.cpu_times(), watched.memory_info().rss
                points.append(
                    Progress(float(reports[-1][1]) / 100, used.user + used.system, time.perf_counter(), memory)
                )
    return count, points


def paths_of(programs: Sequence[str]) -> dict[str, str]:
    """Return the absolute path of each program, from texts such as `pword2vec=./pWord2Vec`.

    Raise ConfigError if a name is not one of PROGRAMS, or if a path is not that of an executable file.
    """
    paths = {}
    for text in programs:
        name, equals, path = text.partition("=")
        if not equals:
            raise ConfigError(f"program: expected SYSTEM=PATH, got {text!r}")
        if name not in PROGRAMS:
            raise ConfigError(f"program: {name!r} is not one of {', '.join(PROGRAMS)}")
        executable = shutil.which(str(Path(path).absolute()))
        if not executable:
            raise ConfigError(f"program: {path} is not an executable file")
        paths[name] = executable
    return paths
