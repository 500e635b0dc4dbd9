"""Several hosts on one machine: namespaces joined by a network of their own, which can be cut, slowed and mended.

Each host has its own network, IPC, UTS, mount and PID namespace and its own /dev/shm; otherwise MPI would exchange
data through shared memory, and a test of the network would test nothing. Files are shared, as on a cluster. A further
network namespace, the login node, has the bridge that connects the hosts; launchers run there:

    with hosts(2) as cluster:
        process = subprocess.Popen([*cluster.mpiexec(2), sys.executable, "program.py"])
        cluster.cut(1)

The namespaces exist as long as a process in each, which ends when its standard input is closed: nothing remains, even
if the test is killed.
"""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil

UNSHARE = ("unshare", "--net", "--ipc", "--uts", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")
HOLD = "mount -t tmpfs tmpfs /dev/shm && hostname {name} && ip link set lo up && echo ready && exec cat"
LOGIN = (
    "ip link add bridge type bridge && ip address add {login}/24 dev bridge && ip link set bridge up"
    " && ip link set lo up && echo ready && exec cat"
)
TRIAL = (
    "ip link add port0 type veth peer name port1 && ip link add bridge0 type bridge"
    " && tc qdisc add dev port0 root tbf rate 1gbit burst 256kb latency 50ms && mount -t tmpfs tmpfs /dev/shm"
)
TOOLS = ("unshare", "nsenter", "ip", "mount", "hostname", "tc")
NETWORK = "10.77.0"


def mpiexec() -> str | None:
    """Return the path of Hydra's mpiexec beside this interpreter or in PATH, or None."""
    return shutil.which("mpiexec", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")


def available() -> str:
    """Return why this machine cannot have hosts, or "" if it can."""
    if sys.platform != "linux":
        return "needs Linux namespaces"
    if os.geteuid() != 0:
        return "needs root to create namespaces"
    if missing := [tool for tool in TOOLS if not shutil.which(tool)]:
        return f"not found: {', '.join(missing)}"
    done = subprocess.run([*UNSHARE, "sh", "-ec", TRIAL], capture_output=True, text=True, check=False)
    return f"namespaces are forbidden: {done.stderr.strip()}" if done.returncode else ""


class Hosts:
    """Running hosts, numbered from 0. pids: the first process of each, as this process sees it."""

    def __init__(self, login: int, pids: list[int], folder: Path) -> None:
        self._login, self.pids, self._launcher = login, pids, folder / "launcher"
        known = "".join(f"{address(host)}) pid={pid} ;;\n" for host, pid in enumerate(pids))
        # Hydra calls it as it would call ssh: options, the host, and the words of a command for the remote shell.
        self._launcher.write_text(
            "#!/bin/bash\nwhile [[ $1 == -* ]]; do shift; done\n"
            f'case $1 in\n{known}*) echo "no host $1" >&2; exit 255 ;;\nesac\n'
            'shift\nexec nsenter --target "$pid" --all -- env --chdir "$PWD" bash -c "exec $*"\n'
        )
        self._launcher.chmod(0o755)

    def within(self, host: int) -> list[str]:
        """Return the words that start a command on a host, in the current folder."""
        return ["nsenter", "--target", str(self.pids[host]), "--all", "--", "env", "--chdir", str(Path.cwd())]

    def login(self) -> list[str]:
        """Return the words that start a command on the login node, which has the processes of this machine."""
        return ["nsenter", "--target", str(self._login), "--net", "--"]

    def mpiexec(self, ranks: int) -> list[str]:
        """Return the words that start a program on the login node as this many ranks, dealt to the hosts in turn."""
        program = mpiexec()
        assert program, "no mpiexec"
        names = ",".join(address(host) for host in range(len(self.pids)))
        words = [program, "-launcher", "ssh", "-launcher-exec", str(self._launcher), "-iface", "bridge"]
        return [*self.login(), *words, "-hosts", names, "-ppn", "1", "-n", str(ranks)]

    def cut(self, host: int) -> None:
        """Take the link of a host down: what it sends and what is sent to it is lost."""
        self._in_login("ip", "link", "set", f"port{host}", "down")

    def mend(self, host: int) -> None:
        """Take the link of a host up again."""
        self._in_login("ip", "link", "set", f"port{host}", "up")

    def kill(self, host: int) -> None:
        """Kill every process of a host. The login node learns it at once."""
        psutil.Process(self.pids[host]).kill()

    def lose(self, host: int) -> None:
        """Kill every process of a host as a power failure does: its connections and remote shells stay silent."""
        self.cut(host)
        for process in psutil.process_iter(["cmdline"]):
            if (process.info["cmdline"] or [])[:3] == ["nsenter", "--target", str(self.pids[host])]:
                process.suspend()
        self.kill(host)

    def sent(self, host: int) -> int:
        """Return the bytes that a host has sent over the network so far."""
        lines = Path(f"/proc/{self.pids[host]}/net/dev").read_text(encoding="ascii").splitlines()
        return int(next(line for line in lines if line.strip().startswith("eth0:")).partition(":")[2].split()[8])

    def _in_login(self, *words: str) -> None:
        subprocess.run([*self.login(), *words], check=True, capture_output=True)


def address(host: int) -> str:
    """Return the address of a host."""
    return f"{NETWORK}.{host + 1}"


@contextmanager
def hosts(count: int, rate: str | None = None) -> Iterator[Hosts]:
    """Start hosts and end them with all their processes. rate: limit of each link in both directions, as in "1gbit"."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hosts-")))
        login = stack.enter_context(_held(["unshare", "--net", "sh", "-ec", LOGIN.format(login=f"{NETWORK}.254")]))
        pids = []
        for host in range(count):
            holder = stack.enter_context(_held([*UNSHARE, "sh", "-ec", HOLD.format(name=f"host{host}")]))
            (first,) = psutil.Process(holder).children()
            pids.append(first.pid)
        cluster = Hosts(login, pids, folder)
        for host, pid in enumerate(pids):
            inside, port = ["nsenter", "--target", str(pid), "--net", "ip"], f"port{host}"
            veth = ["ip", "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", str(pid)]
            cluster._in_login(*veth)
            cluster._in_login("ip", "link", "set", port, "master", "bridge")
            for words in (["address", "add", f"{address(host)}/24", "dev", "eth0"], ["link", "set", "eth0", "up"]):
                subprocess.run([*inside, *words], check=True, capture_output=True)
            if rate:
                limit = shlex.split(f"root tbf rate {rate} burst 256kb latency 50ms")
                cluster._in_login("tc", "qdisc", "add", "dev", port, *limit)
                subprocess.run([*inside[:-1], "tc", "qdisc", "add", "dev", "eth0", *limit], check=True)
            cluster.mend(host)
        yield cluster


@contextmanager
def _held(words: Sequence[str]) -> Iterator[int]:
    """Start a process that says when it is ready and ends with its standard input; yield its id."""
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout
            assert process.stdout.readline() == b"ready\n", f"{words} did not start"
            yield process.pid
        finally:
            for first in psutil.Process(process.pid).children():
                first.kill()  # the kernel then kills all other processes of the host, and unshare ends
            process.kill()
