"""Run the job scripts of examples/ on a one-node SLURM that a test starts: jobs are signaled, requeued and resumed."""

import contextlib
import getpass
import os
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import pytest
from reference import first_lines
from signaled import signaled

from w2vtrain.training import checkpoint_file

ROOT = Path(__file__).parents[2]
FOLDERS = f"{os.environ['PATH']}{os.pathsep}/usr/sbin{os.pathsep}/usr/local/sbin"
PROGRAMS = {name: shutil.which(name, path=FOLDERS) for name in ("munged", "slurmctld", "slurmd", "sbatch", "scontrol")}
MISSING = ", ".join(name for name, path in PROGRAMS.items() if not path)
# SLURM starts a requeued job only after its credentials expire: expiry after 5 s keeps the test short.
CONFIG = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge,cred_expire=5
CredType=cred/munge
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/pgid
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(MISSING), reason=f"needs SLURM and munge; not found: {MISSING}"),
]


def free_ports(count):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def wait_for(ready, what, seconds=180):
    end = time.monotonic() + seconds
    while not (found := ready()):
        assert time.monotonic() < end, f"no {what}"
        time.sleep(0.05)
    return found


@pytest.fixture
def cluster():
    """Start munged, slurmctld and slurmd in a temporary folder, yield the environment for clients, and stop them."""
    with tempfile.TemporaryDirectory(prefix="slurm-") as name, contextlib.ExitStack() as stack:
        folder, config = Path(name), Path(name, "slurm.conf")
        (folder / "key").write_bytes(os.urandom(1024))
        (folder / "key").chmod(0o600)
        about = {"host": socket.gethostname().partition(".")[0], "user": getpass.getuser(), "folder": folder}
        config.write_text(CONFIG.format(**about, ports=free_ports(2)))
        environment = {**os.environ, "SLURM_CONF": str(config), "PATH": FOLDERS}
        munge = {"socket": "munge", "key-file": "key", "pid-file": "pid", "log-file": "munge.log", "seed-file": "seed"}
        munged = ["munged", "--foreground", "--force", *(f"--{key}={folder / value}" for key, value in munge.items())]

        def start(*words):
            log = stack.enter_context((folder / f"{words[0]}.out").open("wb"))
            process = subprocess.Popen(words, stdout=log, stderr=log, env=environment)
            stack.callback(process.wait, 300)
            stack.callback(process.terminate)

        def idle():
            return (
                "idle"
                in subprocess.run(["sinfo", "-h", "-o", "%T"], env=environment, capture_output=True, text=True).stdout
            )

        start(*munged)
        wait_for((folder / "munge").exists, "socket of munged")
        start("slurmctld", "-D", "-f", config)
        start("slurmd", "-D", "-f", config)
        wait_for(idle, "idle node")
        yield environment


def succeed(environment, folder, *words):
    """Run a command that must succeed, and return its output."""
    done = subprocess.run(words, env=environment, cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def signaled_once(environment, job, folder, *whom):
    """Signal a job once it has saved, wait until it is requeued and has finished, and return its log.

    whom: `--batch` for the job's script, nothing for its ranks.
    """
    run, saved = partial(succeed, environment, folder), folder / "vectors.bin.run"

    def about():
        return dict(pair.partition("=")[::2] for pair in run("scontrol", "show", "job", "-o", job).split())

    try:
        wait_for(lambda: checkpoint_file.numbers(saved), "checkpoint")
        run("scancel", "--signal=TERM", *whom, job)
        wait_for(lambda: about()["Restarts"] == "1", "requeueing")
        assert checkpoint_file.numbers(saved)
        wait_for(lambda: about()["JobState"] in ("COMPLETED", "FAILED", "CANCELLED", "NODE_FAIL"), "end of the job")
    finally:
        subprocess.run(["scancel", job], env=environment, check=False, capture_output=True)
    said = (folder / "log").read_text()
    assert (about()["JobState"], about()["ExitCode"]) == ("COMPLETED", "0:0"), said
    assert not saved.exists()
    return said


def test_signaled_job_is_requeued_and_resumes_to_the_same_bytes(cluster, tmp_path):
    first_lines(3000, tmp_path / "text.txt")
    tools, settings = tmp_path / "tools", ["--epochs", "3", "--threads", "1", "--vector-size", "16"]
    tools.mkdir()
    whole = [sys.executable, "-m", "w2vtrain"]
    (tools / "w2vtrain").write_text(
        f"""#!/bin/bash
echo "restarts ${{SLURM_RESTART_COUNT:-0}}"
if [ -n "$SLURM_JOB_ID" ] && [ -z "$SLURM_RESTART_COUNT" ]; then
    exec {shlex.join(signaled(whole, "3:SIGTERM", "nobody"))} "$@"
fi
exec {shlex.join(whole)} "$@"
"""
    )
    (tools / "w2vtrain").chmod(0o755)
    environment = {**cluster, "PATH": f"{tools}:{cluster['PATH']}", "PYTHONPATH": str(ROOT)}

    run = partial(succeed, environment, tmp_path)
    run("w2vtrain", "fit", "text.txt", "-o", "whole.bin", *settings)
    script = ["--cpus-per-task=1", "-o", "log", ROOT / "examples/slurm.sh"]
    fit = ["text.txt", "-o", "vectors.bin", *settings, "--checkpoint-every", "0"]
    job = run("sbatch", "--parsable", *script, *fit).strip()
    said = signaled_once(environment, job, tmp_path, "--batch")
    first, second = said.split("restarts 1\n")
    assert first.startswith("restarts 0\n")
    assert "stopped and saved" in first
    assert "resumed     from a checkpoint" in second
    assert (tmp_path / "vectors.bin").read_bytes() == (tmp_path / "whole.bin").read_bytes()


def test_ranks_that_srun_starts_save_on_a_signal_and_resume_to_the_same_bytes(cluster, tmp_path):
    pytest.importorskip("mpi4py")
    mpiexec = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if not mpiexec:
        pytest.skip("mpiexec is not installed")
    first_lines(3000, tmp_path / "text.txt")
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "w2vtrain").write_text(f'#!/bin/bash\nexec {shlex.join([sys.executable, "-m", "w2vtrain"])} "$@"\n')
    (tools / "w2vtrain").chmod(0o755)
    environment = {**cluster, "PATH": f"{tools}:{cluster['PATH']}", "PYTHONPATH": str(ROOT)}

    run = partial(succeed, environment, tmp_path)
    fit = ["--epochs", "60", "--threads", "1", "--vector-size", "16", "--sync-words", "2000"]
    run(mpiexec, "-n", "2", "w2vtrain", "fit", "text.txt", "-o", "whole.bin", *fit, "--distributed", "mpi")
    script = ["--nodes=1", "--ntasks-per-node=2", "--cpus-per-task=1", "-o", "log", ROOT / "examples/slurm-mpi.sh"]
    job = run("sbatch", "--parsable", *script, "text.txt", "-o", "vectors.bin", *fit, "--checkpoint-every", "0").strip()
    said = signaled_once(environment, job, tmp_path)
    assert "resumed     from a checkpoint" in said
    assert (tmp_path / "vectors.bin").read_bytes() == (tmp_path / "whole.bin").read_bytes()
