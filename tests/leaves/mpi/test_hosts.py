"""The hosts of hosts.py are separate: ranks on two of them talk over the network only."""

import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from hosts import address, available, hosts, mpiexec

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _needs_namespaces():
    if why := available():
        pytest.skip(why)


def python_with_mpi():
    """Return an interpreter that has mpi4py: this one, or the one beside mpiexec."""
    if not mpiexec():
        pytest.skip("needs mpiexec")
    here, beside = sys.executable, Path(mpiexec()).with_name("python")
    for program in (here, str(beside)):
        if subprocess.run([program, "-c", "import mpi4py, numpy"], capture_output=True, check=False).returncode == 0:
            return program
    pytest.skip("needs mpi4py")
    return None


# Each rank says where it is, waits for the file `go`, and sums 8 MiB with the other.
PROGRAM = """
import os, socket, time
from pathlib import Path
import numpy as np
from mpi4py import MPI
world = MPI.COMM_WORLD
rank, array = world.Get_rank(), np.ones(1 << 20)
Path(f"met-{rank}").write_text(f"{socket.gethostname()} {os.getpid()} {sorted(os.listdir('/dev/shm'))}")
world.Barrier()
Path(f"ready-{rank}").touch()
while not Path("go").exists():
    time.sleep(0.01)
world.Allreduce(MPI.IN_PLACE, array)
Path(f"done-{rank}").write_text(str(array.min()))
"""


@pytest.fixture
def cluster():
    with hosts(2, rate="1gbit") as made:
        yield made


@pytest.fixture
def job(cluster, tmp_path, monkeypatch):
    """Start the program on both hosts, wait until the ranks have met, and kill the launcher in the end."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "program.py").write_text(PROGRAM)
    python = python_with_mpi()
    with subprocess.Popen([*cluster.mpiexec(2), python, "program.py"], start_new_session=True) as process:
        try:
            wait_for(tmp_path, "ready", process)
            yield process
        finally:
            process.kill()


def running(pid):
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


def wait_for(folder, what, process):
    while not all((folder / f"{what}-{rank}").exists() for rank in range(2)):
        assert process.poll() in (None, 0)
        time.sleep(0.05)


def test_ranks_talk_over_the_network(cluster, job, tmp_path):
    where = [(tmp_path / f"met-{rank}").read_text().split()[0] for rank in range(2)]
    assert where == ["host0", "host1"]
    before = [cluster.sent(host) for host in range(2)]
    (tmp_path / "go").touch()
    assert job.wait(300) == 0
    assert [(tmp_path / f"done-{rank}").read_text() for rank in range(2)] == ["2.0", "2.0"]
    # Each rank needs what the other has: at least 8 MiB in all, whatever the algorithm, and 4 MiB from each.
    assert [cluster.sent(host) - sent >= 4 << 20 for host, sent in enumerate(before)] == [True, True]
    assert sum(cluster.sent(host) for host in range(2)) - sum(before) >= 8 << 20


def test_job_waits_while_the_link_is_cut_and_finishes_when_it_is_mended(cluster, job, tmp_path):
    cluster.cut(1)
    (tmp_path / "go").touch()
    time.sleep(3)
    assert job.poll() is None
    assert not list(tmp_path.glob("done-*"))
    cluster.mend(1)
    assert job.wait(300) == 0
    assert len(list(tmp_path.glob("done-*"))) == 2


def test_killed_host_has_no_process_left_and_ends_the_job(cluster, job):
    cluster.kill(1)
    assert job.wait(300) != 0
    assert subprocess.run([*cluster.within(0), "true"], check=False).returncode == 0
    assert not running(cluster.pids[1])


def test_hosts_have_names_addresses_and_namespaces_of_their_own_and_leave_nothing(tmp_path):
    try:
        with hosts(3) as cluster:
            pids = cluster.pids
            Path(f"/proc/{pids[0]}/root/dev/shm/mine").touch()
            for host in range(3):
                script = "hostname; echo $$; ls /dev/shm; ip -o -4 address show eth0"
                said = subprocess.run([*cluster.within(host), "sh", "-c", script], capture_output=True, text=True)
                name, pid, *files = said.stdout.splitlines()
                assert (name, files[:-1]) == (f"host{host}", ["mine"] if host == 0 else [])
                assert int(pid) < 100
                assert f"inet {address(host)}/24" in files[-1]
            reached = [*cluster.within(2), "bash", "-c", f"echo > /dev/tcp/{address(0)}/9"]
            assert "refused" in subprocess.run(reached, capture_output=True, text=True).stderr
            sleeper = subprocess.Popen([*cluster.within(1), "sleep", "1000"])
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        pass
    assert sleeper.wait(300) != 0
    psutil.wait_procs([psutil.Process(pid) for pid in pids if psutil.pid_exists(pid)], 300)
    assert not any(map(running, pids))
    assert not Path("/dev/shm/mine").exists()
