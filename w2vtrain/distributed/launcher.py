"""What launchers of MPI jobs leave in the environment, and whether the launcher that left it is still there.

A shell inside of an allocation, or a program that a rank started, inherits variables of a launcher that no longer
listens. An MPI library that believes them ends the process or waits forever. Nothing here loads MPI.
"""

import os
import re
import socket
import stat
from collections.abc import Mapping

from w2vtrain.errors import ConfigError, shown, spelled

SIZE_VARIABLES = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS")
"""Environment variables in which launchers of MPI jobs tell the number of processes."""
ADDRESS = re.compile(r"(?:^|tcp[46]?://)([^\s/:;]+):(\d{1,5})(?:$|[;,])")
"""The host and port in PMI_PORT and in the URIs of PMIx."""


def processes_started(environment: Mapping[str, str] = os.environ) -> int:
    """Return the number of processes that the launcher says it started, 1 without a launcher.

    Raise ConfigError, before MPI is loaded, if the variables are those of a launcher that is gone.
    """
    for name in (name for name, value in environment.items() if _is_stale(name, value)):
        left = sorted(other for other in environment if other.startswith(("PMI_", "PMIX_")))
        raise ConfigError(
            f"distributed: {name} is left from a launcher that is gone: start with mpiexec or srun, or remove"
            f" {spelled('distributed')}; `unset {' '.join(left)}` removes all that is left"
        )
    sizes = {name: environment[name] for name in SIZE_VARIABLES if environment.get(name)}
    for name, size in sizes.items():
        if not re.fullmatch(r"[1-9]\d{0,8}", size):
            raise ConfigError(f"distributed: {name} is {shown(size)}, expected a number of processes: unset {name}")
    return max([1, *map(int, sizes.values())])


def _is_stale(name: str, value: str) -> bool:
    """Return whether a variable names a descriptor that is not open, or an address of this host without a listener."""
    if name == "PMI_FD":
        return not _is_connection(value)
    if name == "PMI_PORT" or name.startswith("PMIX_SERVER_URI"):
        return any(_is_free(host, int(port)) for host, port in ADDRESS.findall(value))
    return False


def _is_connection(number: str) -> bool:
    """Return whether a descriptor, other than the standard streams, is an open socket or pipe."""
    try:
        mode = os.fstat(int(number)).st_mode
    except (OSError, ValueError, OverflowError):
        return False
    return int(number) > 2 and (stat.S_ISSOCK(mode) or stat.S_ISFIFO(mode))


def _is_free(host: str, port: int) -> bool:
    """Return whether nothing listens at an address of this host; False for other hosts.

    The address is taken for a moment, because a connection would disturb a launcher that does listen.
    """
    try:
        with socket.socket() as probe:
            probe.bind((host, port))
    except OSError:  # in use, or an address of another host
        return False
    except OverflowError:  # no such port
        return True
    return True
