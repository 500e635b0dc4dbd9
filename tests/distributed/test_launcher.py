"""Variables that a launcher left behind: refused before an MPI library believes them."""

import os
import socket

import pytest

from w2vtrain.distributed.launcher import processes_started
from w2vtrain.errors import ConfigError


@pytest.fixture
def listener():
    """Return the port of a socket that listens on this host."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def free():
    """Return a port of this host without a listener."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def test_no_launcher_started_one_process():
    assert processes_started({"PMI_DEBUG": "0", "SLURM_JOB_ID": "7", "HOME": "/"}) == 1


def test_a_launcher_that_listens_is_believed(listener):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        for way in (
            {"PMI_FD": str(ours.fileno())},
            {"PMI_PORT": f"127.0.0.1:{listener}"},
            {"PMIX_SERVER_URI41": f"pmix.1;tcp4://127.0.0.1:{listener}"},
            {"PMI_PORT": "192.0.2.1:7"},  # another host, about which nothing is known
        ):
            assert processes_started({**way, "PMI_SIZE": "3", "PMI_RANK": "0"}) == 3


def test_a_launcher_that_is_gone_is_named(free, tmp_path):
    handle = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT)
    closed = os.dup(handle)
    os.close(closed)
    for name, value in (
        ("PMI_FD", str(closed)),
        ("PMI_FD", str(handle)),
        ("PMI_FD", "1"),
        ("PMI_FD", "x"),
        ("PMI_PORT", f"127.0.0.1:{free}"),
        ("PMI_PORT", "127.0.0.1:99999"),
        ("PMIX_SERVER_URI2", f"pmix.1;tcp4://127.0.0.1:{free}"),
    ):
        with pytest.raises(ConfigError, match=f"{name} is left from a launcher that is gone: .* `unset .*PMI_RANK"):
            processes_started({name: value, "PMI_RANK": "0", "PMI_SIZE": "2"})
    os.close(handle)


@pytest.mark.parametrize("size", ["x", "-3", "0", "9" * 30, "1.5"])
def test_a_number_of_processes_must_be_one(size):
    with pytest.raises(ConfigError, match=r"PMI_SIZE is .*, expected a number of processes: unset PMI_SIZE"):
        processes_started({"PMI_SIZE": size})
