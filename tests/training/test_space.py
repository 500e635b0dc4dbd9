"""Free memory and disk space are checked before training begins."""

import shutil
from pathlib import Path

import pytest

from w2vtrain.api import train
from w2vtrain.errors import ResourceError, WriteError
from w2vtrain.kernels.rows import HOT_INPUTS, HOT_NODES
from w2vtrain.system import machine
from w2vtrain.training import space

ROOT = Path(__file__).parents[2]


def test_matrices_that_do_not_fit_in_memory_are_refused_with_sizes_that_fit(monkeypatch):
    monkeypatch.setattr(space, "available_memory", lambda: 100 * 2**20)
    space.check_memory(100_000, 100)
    with pytest.raises(ResourceError) as caught:
        space.check_memory(1_000_000, 300)
    assert str(caught.value) == (
        "1,000,000 words x 300 dimensions need 2,319 MiB of memory, but only 100 MiB are free:"
        " max_vocab=38000 would fit"
    )
    space.check_memory(38_000, 300)
    with pytest.raises(ResourceError, match="max_vocab=105000 or vector_size=64 would fit"):
        space.check_memory(140_000, 100, copies=1)
    space.check_memory(140_000, 64)
    with pytest.raises(ResourceError):
        space.check_memory(70_000, 100, copies=2)


def test_training_checks_free_memory_first(monkeypatch):
    monkeypatch.setattr(space, "available_memory", lambda: 10_000)
    with pytest.raises(ResourceError, match="are free"):
        train(ROOT / "data/simplewiki.txt", epochs=1, vector_size=10)


def test_checkpoints_that_do_not_fit_on_the_disk_are_refused(monkeypatch, tmp_path):
    space.check_disk(tmp_path, 10, 10)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: shutil._ntuple_diskusage(0, 0, 2**20))
    with pytest.raises(WriteError, match=r"need 77 MiB of disk space, but only 1 MiB are free"):
        space.check_disk(tmp_path, 30_000, 100)


def test_available_memory_is_the_smallest_of_all_limits(tmp_path):
    free = machine.available_memory(tmp_path)
    assert free > 2**20
    (tmp_path / "cgroup").write_text("0::/\n")
    (tmp_path / "mountinfo").write_text(f"31 23 0:28 / {tmp_path} rw - cgroup2 cgroup2 rw\n")
    (tmp_path / "memory.max").write_text("max")
    (tmp_path / "memory.current").write_text("5")
    assert machine.available_memory(tmp_path) > 2**20
    (tmp_path / "memory.max").write_text(str(machine.WORKING_BYTES + 1005))
    assert machine.available_memory(tmp_path) == 1000
    (tmp_path / "memory.current").write_text("2000")
    assert machine.available_memory(tmp_path) == 0


def test_replicas_of_hot_rows_are_counted(monkeypatch):
    assert space.replicas(1_000_000, 1) == 0
    assert space.replicas(1_000_000, 8) == 2 * 8 * (HOT_INPUTS + HOT_NODES)
    assert space.replicas(100, 8) == 2 * 8 * 200
    monkeypatch.setattr(space, "available_memory", lambda: 100 * 2**20)
    space.check_memory(100_000, 100, once=space.replicas(100_000, 8))
    with pytest.raises(ResourceError, match="need 121 MiB"):
        space.check_memory(100_000, 100, once=space.replicas(100_000, 36))
