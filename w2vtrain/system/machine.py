"""What this machine grants the process: threads, memory, versions. It decides nothing."""

import os
import platform
import sys
from pathlib import Path
from typing import Any

from w2vtrain.errors import ResourceError
from w2vtrain.system.cgroup import PROC, cgroup_cpus, cgroup_memory

ADDRESS_SPACE = 800 << 20
"""Bytes of addresses that Python's libraries and the compiler take, a small model with them; measured."""
COMPILER = 256 << 20
"""Of these, bytes that are still to be taken when a model's memory is asked for."""
WORKING = 128 << 20
"""Bytes that training takes beyond the model, for the compiler and the replicas of hot rows: measured, up to 100 MiB
with two threads and 130 MiB with eight, for rows of 3,000 dimensions. The limit of a control group keeps them free."""


def automatic_threads(environment: Any = os.environ) -> tuple[int, str]:
    """Return how many threads to use, and why: the least of SLURM's grant, the affinity mask and the cgroup quotas."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    reason = "cores this process may use" if hasattr(os, "sched_getaffinity") else "cores"
    granted = environment.get("SLURM_CPUS_PER_TASK", "")
    if granted.isdigit() and 0 < int(granted) <= cores:
        cores, reason = int(granted), "SLURM_CPUS_PER_TASK"
    quota = cgroup_cpus()
    if quota is not None and quota < cores:
        cores, reason = max(1, int(quota)), "the cgroup's CPU quota"
    return cores, reason


def threads_of(setting: int | str) -> tuple[int, str]:
    """How many threads a setting means, a number or "auto", and why."""
    return automatic_threads() if setting == "auto" else (int(setting), "as asked")


def available_memory(proc: Path = PROC) -> int:
    """Return the bytes that a model can still take, at least 0.

    The least of the system's free memory, the limits of the process's control groups and the limit on its address
    space counts. `proc` is the folder in /proc that names the groups.
    """
    import psutil

    free = [int(psutil.virtual_memory().available)]
    within = cgroup_memory(proc)
    if within is not None:
        free.append(within - WORKING)
    if sys.platform != "win32":
        import resource

        space = resource.getrlimit(resource.RLIMIT_AS)[0]
        if space != resource.RLIM_INFINITY:
            free.append(space - psutil.Process().memory_info().vms - COMPILER)
    return max(0, min(free))


def check_address_space() -> None:
    """ResourceError where a limit (ulimit -v) leaves too few addresses. To be called before NumPy is imported.

    Where they find none OpenBLAS tries for ever and LLVM aborts the process: neither can be told in a line later.
    """
    if sys.platform == "win32":
        return
    import mmap
    import resource

    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # each of its threads takes addresses, and none is used
    try:
        mmap.mmap(-1, ADDRESS_SPACE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=mmap.PROT_READ).close()
    except (OSError, ValueError):
        raise ResourceError(
            f"the limit on the address space is {limit / 2**20:,.0f} MiB, too little for this program's libraries:"
            f" allow {ADDRESS_SPACE / 2**20 + 100:,.0f} MiB or more, with ulimit -v"
        ) from None


def peak_memory() -> int:
    """Most bytes that the process has held in memory so far."""
    if sys.platform == "win32":
        import psutil

        return int(psutil.Process().memory_info().peak_wset)
    status = Path("/proc/self/status")
    if status.exists():  # on Linux, what getrusage says begins with the memory of the process that started this one
        lines = dict(line.split(":", 1) for line in status.read_text().splitlines() if ":" in line)
        if "VmHWM" in lines:
            return int(lines["VmHWM"].split()[0]) * 1024
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that decide what is computed."""
    from importlib import metadata

    names = ("w2vtrain", "numba", "numpy", "llvmlite")
    found = {"python": platform.python_version(), "platform": platform.platform()}
    for name in names:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found
