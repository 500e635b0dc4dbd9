"""Free memory and disk space are checked before training begins."""

import json
import shutil
from pathlib import Path

import pytest
from reference import first_lines

from w2vtrain.api import train
from w2vtrain.errors import ResourceError, WriteError
from w2vtrain.kernels.rows import HOT_INPUTS, HOT_NODES
from w2vtrain.system import machine
from w2vtrain.training import checkpoint_file, checkpointing, memory_and_disk

ROOT = Path(__file__).parents[2]


def test_matrices_that_do_not_fit_in_memory_are_refused_with_sizes_that_fit(monkeypatch):
    monkeypatch.setattr(memory_and_disk, "available_memory", lambda: 100 * 2**20)
    memory_and_disk.check_memory(100_000, 100)
    with pytest.raises(ResourceError) as caught:
        memory_and_disk.check_memory(1_000_000, 300)
    assert str(caught.value) == (
        "1,000,000 words x 300 dimensions need 2,319 MiB of memory, but only 100 MiB are free:"
        " max_vocab=38000 would fit"
    )
    memory_and_disk.check_memory(38_000, 300)
    with pytest.raises(ResourceError, match="max_vocab=105000 or vector_size=64 would fit"):
        memory_and_disk.check_memory(140_000, 100, copies=1)
    memory_and_disk.check_memory(140_000, 64)
    with pytest.raises(ResourceError):
        memory_and_disk.check_memory(70_000, 100, copies=2)


def test_training_checks_free_memory_first(monkeypatch):
    monkeypatch.setattr(memory_and_disk, "available_memory", lambda: 10_000)
    with pytest.raises(ResourceError, match="are free"):
        train(ROOT / "data/simplewiki.txt", epochs=1, vector_size=1000)


def test_checkpoints_that_do_not_fit_on_the_disk_are_refused(monkeypatch, tmp_path):
    memory_and_disk.check_disk([(tmp_path, 1000)])
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: shutil._ntuple_diskusage(0, 0, 2**20))
    with pytest.raises(WriteError, match=r"run: checkpoints and vectors need 2.0 MiB of disk space, but only 1.0 MiB"):
        memory_and_disk.check_disk([(tmp_path / "run", 10), (tmp_path, 2**21 - 10)])
    with pytest.raises(WriteError, match=r"the encoded text needs .* choose another folder with .*TMPDIR"):
        memory_and_disk.check_disk([(tmp_path, 2**21)], memory_and_disk.TEXT_NEEDS)


def test_a_resumed_run_needs_no_space_for_the_checkpoints_that_it_has(tmp_path):
    footprint = memory_and_disk.Footprint(1_000_000, 0, 1000)
    assert footprint.left(tmp_path / "new") == footprint.folder > 3_000_000
    (tmp_path / "ckpt-000001").mkdir()
    (tmp_path / "ckpt-000001" / "state.safetensors").write_bytes(bytes(1_000_000))
    assert footprint.left(tmp_path) == footprint.folder - 1_000_000


RUNS = {
    "neg": [],
    "held-out": ["--heldout", "held.txt"],
    "subwords, held-out": ["--subwords", "--bucket", "3000", "--heldout", "held.txt"],
    "fastText's format": ["--subwords", "--bucket", "30000", "--format", "fasttext"],
    "hs, two threads": ["--objective", "hs", "--threads", "2"],
    "nce with log Z": ["--objective", "nce", "--learn-z", "--save-model", "m.safetensors"],
    "softmax with biases, held-out": [
        "--objective",
        "softmax",
        "--bias",
        "--max-vocab",
        "300",
        "--heldout",
        "held.txt",
    ],
    "cbow, compressed": ["--architecture", "cbow", "-o", "v.txt.gz", "--save-output-vectors", "out.npz"],
}


@pytest.mark.parametrize("options", RUNS.values(), ids=RUNS)
def test_a_run_takes_the_disk_space_that_is_checked_and_estimated(w2vtrain_here, monkeypatch, tmp_path, options):
    """Measure the run folder when three checkpoints are complete, and the results at the end."""
    first_lines(600, tmp_path / "text.txt")
    first_lines(20, tmp_path / "held.txt")
    peak, checked, remove, check = [0], [], checkpoint_file.remove, memory_and_disk.check_disk

    def removing(folder, number):
        peak[0] = max(peak[0], memory_and_disk.size_of(folder))
        remove(folder, number)

    def checking(needs, purpose=memory_and_disk.RESULTS_NEED):
        checked.append([size for _, size in needs])
        check(needs, purpose)

    monkeypatch.setattr(checkpoint_file, "remove", removing)
    monkeypatch.setattr(checkpointing, "check_disk", checking)
    monkeypatch.setattr(checkpointing, "available_memory", lambda: 0)  # training waits for each checkpoint
    words = ["fit", "text.txt", "-o", "v.txt", "-q", "--vector-size", "40", "--epochs", "4"]
    words += ["--checkpoint-every", "0"]
    code, out, err = w2vtrain_here([*words, *options, "--dry-run", "--json"], tmp_path)
    assert code == 0, err
    found = json.loads(out)
    before = {path.name for path in tmp_path.iterdir()}
    assert w2vtrain_here([*words, *options], tmp_path)[0] == 0
    results = sum(path.stat().st_size for path in tmp_path.iterdir() if path.name not in before)
    assert peak[0] <= found["checkpoints"] <= 1.5 * peak[0]
    [(folder, *written)] = checked
    assert folder == pytest.approx(found["checkpoints"], rel=0.15)
    for size in (found["results"], sum(written)):  # before training and after a little of it, numbers differ in length
        assert 0.9 * results <= size <= 1.3 * results + memory_and_disk.SMALL_BYTES


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
    assert memory_and_disk.replicas(1_000_000, 1) == 0
    assert memory_and_disk.replicas(1_000_000, 8) == 2 * 8 * (HOT_INPUTS + HOT_NODES)
    assert memory_and_disk.replicas(100, 8) == 2 * 8 * 200
    monkeypatch.setattr(memory_and_disk, "available_memory", lambda: 100 * 2**20)
    memory_and_disk.check_memory(100_000, 100, once=memory_and_disk.replicas(100_000, 8))
    with pytest.raises(ResourceError, match="need 121 MiB"):
        memory_and_disk.check_memory(100_000, 100, once=memory_and_disk.replicas(100_000, 36))
