"""Tests of the limits of nested control groups, with files that imitate the kernel's and, if possible, a real group."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from w2vtrain.system import cgroup, machine
from w2vtrain.system.cgroup import PROC, cgroup_cpus, cgroup_memory

TEXT = Path(__file__).parents[2] / "data/simplewiki.txt"
UNLIMITED_V1 = 2**63 - 4096


class Machine:
    """A simulated machine below one folder: the folder of a process in /proc, and mounts of control groups."""

    def __init__(self, folder):
        self.folder, self.proc = folder, folder / "proc"
        self.proc.mkdir()
        self.mounts = ["22 1 0:5 / /proc rw,nosuid shared:3 master:1 - proc proc rw"]
        self.belongs()

    def belongs(self, *lines):
        (self.proc / "cgroup").write_text("".join(f"{line}\n" for line in lines))

    def mount(self, name, kind="cgroup2", options="rw,nsdelegate", root="/", written=None):
        """Mount a hierarchy, or part of it, at folder/name. `written`: the spelling of the mount point in mountinfo."""
        point = self.folder / name
        point.mkdir(exist_ok=True)
        number, written = 30 + len(self.mounts), written or str(point).replace(" ", r"\040")
        self.mounts.append(f"{number} 22 0:26 {root} {written} rw,nosuid shared:4 - {kind} {kind} {options}")
        (self.proc / "mountinfo").write_text("".join(f"{line}\n" for line in self.mounts))
        return point


@pytest.fixture
def fake(tmp_path):
    return Machine(tmp_path)


def write(folder, **files):
    """Write files into a group's folder; the keyword memory_max writes the file memory.max, and so on."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name.replace("_", ".", 1)).write_text(f"{content}\n")
    return folder


def stat(**fields):
    return "\n".join(f"{name} {value}" for name, value in {"anon": 7, **fields}.items())


@pytest.fixture
def v2(fake):
    """Return a machine whose process is in /slice/job/step, and the mount point of version 2."""
    fake.belongs("0::/slice/job/step")
    point = fake.mount("unified")
    (point / "slice/job/step").mkdir(parents=True)
    return fake, point


def test_a_mount_point_may_have_what_python_takes_for_a_line_end(fake):
    fake.belongs("0::/slice\u2028job")
    point = fake.mount("uni\u2028fied")
    write(point / "slice\u2028job", cpu_max="150000 100000")
    assert cgroup_cpus(fake.proc) == 1.5


def test_each_limit_is_compared_with_the_usage_of_its_own_group(v2):
    fake, point = v2
    write(point / "slice/job/step", memory_max=1000, memory_current=100)
    write(point / "slice/job", memory_max=3000, memory_current=2500)  # other steps of the job use most of it
    write(point / "slice", memory_max=9000, memory_current=3000)
    assert cgroup_memory(fake.proc) == 500


def test_sibling_and_child_groups_are_ignored(v2):
    fake, point = v2
    write(point / "slice/other", memory_max=10, memory_current=9, cpu_max="1000 100000")
    write(point / "slice/job/step/child", memory_max=10, memory_current=9, cpu_max="1000 100000")
    assert cgroup_memory(fake.proc) is None
    assert cgroup_cpus(fake.proc) is None


def test_a_throttling_threshold_counts_as_a_limit(v2):
    fake, point = v2
    write(point / "slice/job", memory_max=1000, memory_high=800, memory_current=100)
    assert cgroup_memory(fake.proc) == 700


def test_the_page_cache_counts_as_free(v2):
    fake, point = v2
    step = write(point / "slice/job/step", memory_max=1000, memory_current=950)
    assert cgroup_memory(fake.proc) == 50
    cache = stat(file=700, shmem=250, inactive_file=300, active_file=150, slab_reclaimable=40, slab_unreclaimable=5)
    write(step, memory_stat=cache)
    assert cgroup_memory(fake.proc) == 50 + 300 + 150 + 40


@pytest.mark.parametrize("used, cache, free", [(2000, 0, 0), (100, 500, 1000), (0, 0, 1000), (1000, 1, 1)])
def test_free_memory_is_between_zero_and_the_limit(v2, used, cache, free):
    fake, point = v2
    write(point / "slice", memory_max=1000, memory_current=used, memory_stat=stat(inactive_file=cache))
    assert cgroup_memory(fake.proc) == free


def test_limits_of_version_1_apply(fake):
    fake.belongs("5:cpu,cpuacct:/batch/job", "4:memory:/slurm/uid 7/job", "1:name=systemd:/")
    memory = fake.mount("memory", "cgroup", "rw,memory")
    cpu = fake.mount("cpu", "cgroup", "rw,cpu,cpuacct")
    write(memory, memory_limit_in_bytes=UNLIMITED_V1, memory_usage_in_bytes=10**9)
    write(cpu, cpu_cfs_quota_us=-1, cpu_cfs_period_us=100_000)
    inner = write(
        memory / "slurm/uid 7/job", memory_limit_in_bytes=UNLIMITED_V1, memory_usage_in_bytes=100, memory_stat=stat()
    )
    assert cgroup_memory(fake.proc) is None
    assert cgroup_cpus(fake.proc) is None
    of_children = {"inactive_file": 1, "active_file": 2, "total_inactive_file": 200, "total_active_file": 30}
    write(memory / "slurm", memory_limit_in_bytes=5000, memory_usage_in_bytes=4000, memory_stat=stat(**of_children))
    assert cgroup_memory(fake.proc) == 1230
    write(inner, memory_limit_in_bytes=1000)
    assert cgroup_memory(fake.proc) == 900
    write(cpu / "batch", cpu_cfs_quota_us=250_000, cpu_cfs_period_us=100_000)
    assert cgroup_cpus(fake.proc) == 2.5
    write(cpu / "batch/job", cpu_cfs_quota_us=50_000, cpu_cfs_period_us=100_000)
    assert cgroup_cpus(fake.proc) == 0.5


def test_limits_of_both_versions_apply_on_a_hybrid_system(fake):
    fake.belongs("4:memory:/a/b", "3:cpu,cpuacct:/", "0::/user/app")
    memory = fake.mount("memory", "cgroup", "rw,memory")
    unified = fake.mount("unified")
    write(memory / "a", memory_limit_in_bytes=2000, memory_usage_in_bytes=500)
    write(unified / "user", cpu_max="150000 100000")
    write(unified / "a", memory_max=10, memory_current=0)  # ignored: /a is a path in version 1
    assert cgroup_memory(fake.proc) == 1500
    assert cgroup_cpus(fake.proc) == 1.5
    write(unified / "user/app", memory_max=1700, memory_current=500)
    assert cgroup_memory(fake.proc) == 1200


def test_the_smallest_quota_of_nested_groups_applies(v2):
    fake, point = v2
    write(point / "slice/job/step", cpu_max="max 100000")
    assert cgroup_cpus(fake.proc) is None
    write(point / "slice", cpu_max="300000 100000")
    assert cgroup_cpus(fake.proc) == 3
    write(point / "slice/job", cpu_max="20000 40000")
    assert cgroup_cpus(fake.proc) == 0.5
    write(point / "slice/job/step", cpu_max="400000 100000")
    assert cgroup_cpus(fake.proc) == 0.5


@pytest.mark.parametrize(
    "root, own",
    [("/../../..", "/"), ("/", "/../other"), ("/pods/x", "/"), ("/pods/x", "/pods/xy"), ("/..", "/../../a")],
)
def test_a_container_with_another_root_uses_the_mount_point(fake, root, own):
    fake.belongs(f"0::{own}")
    point = write(fake.mount("unified", root=root), memory_max=1000, memory_current=100, cpu_max="1 2")
    write(fake.folder / "a", memory_max=1, memory_current=0)
    write(fake.folder / "other", memory_max=1, memory_current=0)
    assert list(cgroup._groups("memory", fake.proc)) == [point]
    assert cgroup_memory(fake.proc) == 900
    assert cgroup_cpus(fake.proc) == 0.5


def test_a_mount_of_part_of_the_hierarchy_contains_the_rest_of_the_path(fake):
    fake.belongs("0::/pods/x/worker/step")
    point = fake.mount("unified", root="/pods/x")
    write(point / "worker", memory_max=1000, memory_current=400)
    groups = list(cgroup._groups("memory", fake.proc))
    assert groups == [point / "worker/step", point / "worker", point]
    assert cgroup_memory(fake.proc) == 600


def test_a_mount_that_contains_the_process_is_preferred(fake):
    fake.belongs("0::/pods/x")
    write(fake.mount("host", root="/pods/other"), memory_max=10, memory_current=0)
    write(fake.mount("unified", root="/pods/x"), memory_max=1000, memory_current=0)
    assert cgroup_memory(fake.proc) == 1000


def test_a_hidden_mount_is_ignored(fake):
    fake.belongs("0::/a")
    point = write(fake.mount("unified", root="/"), memory_max=1000, memory_current=0)
    write(point / "a", memory_max=10, memory_current=0)
    fake.mount("unified", root="/a")
    assert list(cgroup._groups("memory", fake.proc)) == [point]
    fake.mount("unified", kind="tmpfs")
    assert cgroup_memory(fake.proc) is None


def test_escapes_in_mountinfo_are_decoded(fake):
    fake.belongs("0::/a b\\c/d:e")
    escaped = str(fake.folder / "my groups\\x").replace("\\", "\\134").replace(" ", "\\040")
    point = fake.mount("my groups\\x", root="/a\\040b\\134c", written=escaped)
    write(point / "d:e", memory_max=1000, memory_current=1)
    assert cgroup_memory(fake.proc) == 999


def test_limits_of_outer_groups_apply_after_the_inner_group_was_removed(fake):
    fake.belongs("0::/slice/gone (deleted)")
    write(fake.mount("unified") / "slice", memory_max=1000, memory_current=0)
    assert cgroup_memory(fake.proc) == 1000


@pytest.mark.parametrize("none", ["max", "-1", str(UNLIMITED_V1)])
def test_a_number_that_is_no_limit_means_no_limit(v2, none):
    fake, point = v2
    write(point / "slice", memory_max=none, memory_high=none, memory_limit_in_bytes=none, cpu_max=f"{none} 100000")
    write(point / "slice", memory_current=10, memory_usage_in_bytes=10)
    assert cgroup_memory(fake.proc) is None
    assert cgroup_cpus(fake.proc) is None


def test_missing_files_mean_no_limit(fake, tmp_path):
    fake.belongs("0::/", "4:memory:/a")
    assert cgroup_memory(fake.proc) is None  # without mountinfo
    assert cgroup_cpus(fake.proc) is None
    point = fake.mount("unified")
    write(point, memory_max=1000)  # without memory.current
    assert cgroup_memory(fake.proc) is None
    (fake.proc / "cgroup").unlink()
    write(point, memory_current=10)
    assert cgroup_memory(fake.proc) is None
    assert cgroup_memory(tmp_path / "none") is None
    assert cgroup_cpus(tmp_path / "none") is None


def test_limits_of_this_machine_are_found_without_arguments():
    assert cgroup_memory() is None or cgroup_memory() >= 0
    assert cgroup_cpus() is None or cgroup_cpus() > 0
    assert machine.available_memory() >= 0


@pytest.fixture
def real_group():
    """Yield an unlimited group for a process to join, inside a real group with a limit of 1 GiB."""
    own = next((group for group in cgroup._groups("memory", PROC) if list(group.glob("memory.stat"))), None)
    if own is None:
        pytest.skip("no control group of this process is visible")
    outer = own / f"w2vtrain-test-{os.getpid()}"
    inner = outer / "step"
    made = []
    try:
        for group in (outer, inner):
            group.mkdir()
            made.append(group)
        limit = next(
            (outer / name for name in ("memory.max", "memory.limit_in_bytes") if (outer / name).exists()), None
        )
        if limit is None:
            pytest.skip("groups below the process's own cannot have a memory limit")
        limit.write_text(str(1 << 30))
        yield inner
    except OSError as error:
        pytest.skip(f"cannot create a control group: {error}")
    finally:
        for group in reversed(made):
            group.rmdir()


JOINED = """
import pathlib, sys
pathlib.Path(sys.argv.pop(1), "cgroup.procs").write_text("0")
from w2vtrain.cli import main
main()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has control groups")
def test_fit_exits_with_71_before_a_real_outer_group_kills_it(real_group, tmp_path):
    output = tmp_path / "v.bin"
    arguments = ["fit", TEXT, "--vector-size", "20000", "-o", output, "-q"]
    command = [sys.executable, "-c", JOINED, str(real_group), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 71, done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert "MiB are free: --max-vocab" in done.stderr
    assert not output.exists()
