"""The examples for several hosts, run with stand-ins for SLURM and mpiexec."""

import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml
from reference import first_lines
from signaled import signaled

from w2vtrain.cli import cli
from w2vtrain.training import checkpoint_file

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs a POSIX shell")
ROOT = Path(__file__).parents[3]
WHOLE = [sys.executable, "-m", "w2vtrain"]
SETTINGS = ["--epochs", "3", "--threads", "1", "--vector-size", "16", "--checkpoint-every", "0"]
# One rank trains alone. The first one that srun starts waits at its third slice for a signal.
W2VTRAIN = f"""\
words=()
for word; do [[ $word == --distributed || $word == mpi ]] || words+=("$word"); done
if [[ ${{words[0]}} == fit && $SLURM_JOB_ID && ! -e asked ]]; then
    exec {shlex.join(signaled(WHOLE, "3:SIGTERM", "nobody"))} "${{words[@]}}"
fi
exec {shlex.join(WHOLE)} "${{words[@]}}"
"""
SRUN = """\
echo "$@" >> steps
while [[ $1 == --* ]]; do shift; done
"$@" &
echo $! > rank
wait $!
"""
SCONTROL = 'echo "$@" >> asked\n'
# It loses its first ranks.
MPIEXEC = """\
echo "$@" >> launches
[[ $(wc -l < launches) == 1 ]] && exit 255
shift 4
exec "$@"
"""


@pytest.fixture
def environment(tmp_path):
    tools = tmp_path / "tools"
    tools.mkdir()
    scripts = {"w2vtrain": W2VTRAIN, "srun": SRUN, "scontrol": SCONTROL, "mpiexec": MPIEXEC, "sleep": "echo sleeps"}
    for name, script in scripts.items():
        (tools / name).write_text(f"#!/bin/bash\n{script}")
        (tools / name).chmod(0o755)
    first_lines(1500, tmp_path / "text.txt")
    return {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"}


def test_slurm_job_on_several_nodes_saves_requeues_and_resumes(environment, tmp_path):
    environment |= {"SLURM_JOB_ID": "17", "SLURM_CPUS_PER_TASK": "2"}
    words = ["bash", ROOT / "examples/slurm-mpi.sh", "text.txt", "-o", "v.bin", *SETTINGS]
    with subprocess.Popen(words, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True) as job:
        while not checkpoint_file.numbers(tmp_path / "v.bin.run"):
            assert job.poll() is None
            time.sleep(0.05)
        os.kill(int((tmp_path / "rank").read_text()), signal.SIGTERM)  # SLURM signals the ranks
        said = job.communicate(timeout=300)[1]
    assert job.returncode == 75, said
    assert "stopped and saved in v.bin.run" in said
    assert (tmp_path / "asked").read_text() == "requeue 17\n"
    assert (tmp_path / "steps").read_text().startswith("--mpi=pmi2 --cpus-per-task=2 --kill-on-bad-exit=0 w2vtrain fit")
    again = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert again.returncode == 0, again.stderr
    assert "resumed" in again.stderr
    assert (tmp_path / "asked").read_text() == "requeue 17\n"


def test_ssh_script_restarts_ranks_that_were_lost(environment, tmp_path):
    words = ["bash", ROOT / "examples/mpi-ssh.sh", "node1,node2", "text.txt", "-o", "v.bin", *SETTINGS]
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "launches").read_text().startswith("-hosts node1,node2 -ppn 1 w2vtrain fit text.txt -o v.bin")
    assert (len((tmp_path / "launches").read_text().splitlines()), done.stdout) == (2, "sleeps\n")
    assert (tmp_path / "v.bin").exists()


def test_ssh_script_ends_if_another_start_would_fail_in_the_same_way(environment, tmp_path):
    words = ["bash", ROOT / "examples/mpi-ssh.sh", "node1,node2", "missing.txt", "-o", "v.bin", *SETTINGS]
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 66, done.stderr
    assert (len((tmp_path / "launches").read_text().splitlines()), done.stdout) == (2, "sleeps\n")


def test_kubernetes_job_starts_a_valid_command_with_one_rank_per_worker_on_a_shared_volume():
    job = yaml.safe_load((ROOT / "examples/mpijob.yaml").read_text(encoding="utf-8"))
    assert (job["apiVersion"], job["kind"]) == ("kubeflow.org/v2beta1", "MPIJob")
    spec = job["spec"]
    assert spec["mpiImplementation"] == "MPICH"
    launcher, worker = (spec["mpiReplicaSpecs"][name] for name in ("Launcher", "Worker"))
    (first,), (other,) = (replica["template"]["spec"]["containers"] for replica in (launcher, worker))
    words = [*first["command"], *first["args"]]
    assert words[:5] == ["mpiexec", "-n", str(worker["replicas"] * spec["slotsPerWorker"]), "w2vtrain", "fit"]
    cli.commands["fit"].make_context("fit", words[5:]).close()
    assert first["image"] == other["image"]
    assert first["volumeMounts"] == other["volumeMounts"]
    assert first["workingDir"] == first["volumeMounts"][0]["mountPath"]
    assert launcher["template"]["spec"]["volumes"] == worker["template"]["spec"]["volumes"]
