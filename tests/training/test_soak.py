"""An hour of random faults: runs that are killed, signaled, damaged or out of disk space still write the right bytes.

The environment variable SOAK_MINUTES sets the duration in minutes; the default is 60.
"""

import os
import random
import re
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from reference import first_lines

from w2vtrain.training import checkpoint_file
from w2vtrain.training.run_files import CONFIG

KINDS = [("skipgram", "neg"), ("cbow", "hs"), ("cbow", "nce"), ("cbow", "sampled-softmax"), ("skipgram", "target")]
CODES = {0, -signal.SIGKILL, -signal.SIGTERM, -signal.SIGINT, 74, 75}
"""Exit codes that a start may have: finished, killed by a signal that Python did not handle, disk full, saved."""


def small_files():
    """Limit the size of files in a process about to start, as if the disk were full."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (random.randrange(1 << 12, 1 << 20), resource.RLIM_INFINITY))


def damage(folder, chance):
    """Flip a random bit of the newest checkpoint, if there is an older one to resume from."""
    kept = checkpoint_file.numbers(folder)
    if len(kept) == checkpoint_file.KEPT_CHECKPOINTS:
        state = checkpoint_file.path_of(folder, kept[-1])
        data = bytearray(state.read_bytes())
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        state.write_bytes(data)


def start(words, chance):
    """Run a command, with up to two random signals and sometimes a full disk; return its exit code and stderr."""
    full = chance.random() < 0.15
    about = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(words, preexec_fn=small_files if full else None, **about) as process:
        for number in chance.choices([signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGUSR1], k=2):
            try:
                process.wait(chance.uniform(0.8, 3.0))
                break
            except subprocess.TimeoutExpired:
                if number != signal.SIGUSR1 or _listens(process.pid):
                    process.send_signal(number)
        _, said = process.communicate(timeout=300)
    return process.returncode, said


def _listens(pid):
    caught = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("SigCgt"))
    return bool(int(caught.split()[1], 16) >> (signal.SIGUSR1 - 1) & 1)


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux signals and resource limits")
def test_runs_survive_an_hour_of_random_faults(tmp_path):
    first_lines(1500, tmp_path / "text.txt")
    chance, end = random.Random(5), time.monotonic() + 60 * float(os.environ.get("SOAK_MINUTES", 60))
    output, folder, starts, runs, whole = tmp_path / "vectors.bin", tmp_path / "vectors.bin.run", 0, 0, {}

    def words(kind, output):
        settings = ["--epochs", "3", "--threads", "1", "--vector-size", "16", "--checkpoint-every", "0"]
        named = ["--architecture", kind[0], "--objective", kind[1]]
        return [sys.executable, "-m", "w2vtrain", "fit", tmp_path / "text.txt", "-o", output, *settings, *named]

    while time.monotonic() < end:
        kind = KINDS[runs % len(KINDS)]
        if kind not in whole:
            subprocess.run(words(kind, tmp_path / "whole.bin"), check=True, capture_output=True)
            whole[kind] = (tmp_path / "whole.bin").read_bytes()
            for name in ("whole.bin", "whole.bin.json"):
                (tmp_path / name).unlink()
        code = None
        while code != 0:
            code, said = start(words(kind, output), chance)
            starts += 1
            interrupted = code == 130 or "before training began" in said
            assert code in CODES or interrupted, said
            assert "Traceback" not in said
            if code == 74:
                assert re.search("cannot (be written|write)", said), said
            if code and Path(f"{output}.json").exists() and not (folder / CONFIG).exists():
                break  # killed during cleanup, after all results were written
            if chance.random() < 0.2:
                damage(folder, chance)
        assert output.read_bytes() == whole[kind], (kind, starts)
        output.unlink()
        Path(f"{output}.json").unlink()
        runs += 1
    print(f"{starts} starts, {runs} runs")
    assert runs > 0
    assert starts > runs
