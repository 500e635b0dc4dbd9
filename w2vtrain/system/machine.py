"""What this machine grants the process, threads and memory, and what it is: processor and software versions.

Callers decide how to use them.
"""

import os
import platform
import re
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from w2vtrain.errors import ResourceError
from w2vtrain.system.amounts import size_text
from w2vtrain.system.cgroup import PROC, cgroup_cpus, cgroup_memory

ADDRESS_SPACE_BYTES = 800 << 20
"""Address space that Python's libraries, the compiler and a small model take; measured."""
COMPILER_BYTES = 256 << 20
"""The part of ADDRESS_SPACE_BYTES that is not yet taken when a model's memory is allocated."""
WORKING_BYTES = 128 << 20
"""Memory that training takes beyond the model, for the compiler and the replicas of hot rows; kept free within the
limit of a control group. Measured for rows of 3,000 dimensions: up to 100 MiB with two threads, 130 MiB with eight."""

UNKNOWN_BYTES = sys.maxsize
"""More memory than any machine has: nothing is refused for lack of memory if nothing is known about it."""
CPUINFO = Path("/proc/cpuinfo")
SIZE_VARIABLES = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS")
"""Environment variables in which launchers of MPI jobs tell the number of processes."""


def cores_of_process() -> list[int]:
    """Return the numbers of the cores that this process may use; an empty list if the system does not tell."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


def automatic_threads(environment: Any = os.environ) -> tuple[int, str]:
    """Return the number of threads to use and the reason for it.

    The number is the smallest of SLURM's grant, the size of the affinity mask and the CPU quota of the cgroups.
    """
    cores = len(cores_of_process()) or os.cpu_count() or 1
    reason = "cores this process may use" if hasattr(os, "sched_getaffinity") else "cores"
    granted = environment.get("SLURM_CPUS_PER_TASK", "")
    if granted.isdigit() and 0 < int(granted) <= cores:
        cores, reason = int(granted), "SLURM_CPUS_PER_TASK"
    quota = cgroup_cpus()
    if quota is not None and quota < cores:
        cores, reason = max(1, int(quota)), "the cgroup's CPU quota"
    return cores, reason


def threads_of(setting: int | str) -> tuple[int, str]:
    """Return the number of threads for a setting, a number or "auto", and the reason for it."""
    return automatic_threads() if setting == "auto" else (int(setting), "as requested")


def launched_processes() -> int:
    """Return the number of processes that a launcher of MPI jobs has started, of which this is one; 1 without any."""
    return max([1, *(int(size) for name in SIZE_VARIABLES if (size := os.environ.get(name, "")).isdecimal())])


def available_memory(proc: Path = PROC) -> int:
    """Return how many bytes a model can still take, at least 0; UNKNOWN_BYTES if the system does not tell.

    This is the smallest of the system's free memory, what the process's control groups still allow and what the limit
    on its address space still allows. `proc` is the folder of the process in /proc.
    """
    import psutil

    free = [UNKNOWN_BYTES]
    with suppress(OSError, LookupError, ValueError, RuntimeError, psutil.Error):  # without /proc, for example
        free.append(int(psutil.virtual_memory().available))
    if (allowed := cgroup_memory(proc)) is not None:
        free.append(allowed - WORKING_BYTES)
    if sys.platform != "win32":
        import resource

        space = resource.getrlimit(resource.RLIMIT_AS)[0]
        if space != resource.RLIM_INFINITY:
            with suppress(OSError, psutil.Error):
                free.append(space - psutil.Process().memory_info().vms - COMPILER_BYTES)
    return max(0, min(free))


def process_exists(pid: int) -> bool:
    """Return whether a process of this host has this number; True if the system does not tell.

    A process that has ended exists until its parent has read its exit code.
    """
    import psutil

    try:
        return bool(psutil.pid_exists(pid))
    except OverflowError:  # no system has such large numbers
        return False
    except OSError:  # without /proc, for example
        return True


def check_address_space() -> None:
    """Raise ResourceError if a limit (ulimit -v) leaves too little address space; call it before NumPy is imported.

    Without enough address space, OpenBLAS retries forever and LLVM aborts the process, and neither can be reported.
    """
    if sys.platform == "win32":
        return
    import mmap
    import resource

    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # its threads would take address space, but are not used
    try:
        mmap.mmap(-1, ADDRESS_SPACE_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=mmap.PROT_READ).close()
    except (OSError, ValueError):
        raise ResourceError(
            f"the limit on the address space is {size_text(limit)}, too little for this program's libraries:"
            f" raise it to {size_text(ADDRESS_SPACE_BYTES + (100 << 20))} or more with ulimit -v"
        ) from None


def peak_memory() -> int:
    """Return the peak resident memory of the process so far, in bytes."""
    if sys.platform == "win32":
        import psutil

        return int(psutil.Process().memory_info().peak_wset)
    with suppress(OSError):  # on Linux, the peak that getrusage reports starts at the parent's memory
        if line := re.search(rb"(?m)^VmHWM:\s*(\d+)", Path("/proc/self/status").read_bytes()):
            return int(line[1]) * 1024
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def memory_in_use() -> int:
    """Return the resident memory of the process, in bytes, which includes what it has read of mapped files."""
    import psutil

    return int(psutil.Process().memory_info().rss)


@cache
def machine() -> dict[str, Any]:
    """Return the processor's name, the cores that the process may use, and the machine's bytes of memory, or None."""
    import psutil

    memory = None
    with suppress(OSError, LookupError, ValueError, RuntimeError, psutil.Error):  # without /proc, for example
        memory = int(psutil.virtual_memory().total)
    return {"processor": processor_name(), "cores": automatic_threads()[0], "memory_bytes": memory}


@cache
def versions() -> dict[str, str]:
    """Return the platform and the versions of Python and of the packages that affect the results."""
    from importlib import metadata

    versions = {"python": platform.python_version(), "platform": platform.platform()}
    for name in ("w2vtrain", "numba", "numpy", "llvmlite"):
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            versions[name] = "not installed"
    return versions


def processor_name(cpuinfo: Path = CPUINFO) -> str:
    """Return the name of the processor, or of its family if the system does not tell more."""
    if sys.platform == "darwin":
        import subprocess

        command = ["/usr/sbin/sysctl", "-n", "machdep.cpu.brand_string"]
        with suppress(OSError, subprocess.SubprocessError):
            return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout.strip()
    with suppress(OSError):
        text = cpuinfo.read_text(encoding="utf-8", errors="replace")
        facts: dict[str, str] = dict(re.findall(r"(?m)^(model name|CPU implementer|CPU part)\s*: (.*)", text))
        if "model name" in facts:
            return facts["model name"]
        if "CPU part" in facts:  # Linux names no processors of this family
            return f"{platform.machine()}, CPU implementer {facts.get('CPU implementer')}, part {facts['CPU part']}"
    return platform.processor() or platform.machine()
