"""Memory and CPU limits of the Linux control groups (cgroups) that contain this process.

The functions return None if there is no control group or no limit: a file that is missing means no limit.

The limits of all groups from the process's own group to the root of its hierarchy apply: a systemd slice, a SLURM job
step or a Kubernetes pod may limit an outer group, an inner group or both. Version 1 has one hierarchy per controller,
version 2 has one for all controllers, and hybrid systems have both. Inside a container, only the groups that are
mounted there are visible.
"""

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

PROC = Path("/proc/self")
NO_LIMIT = 1 << 60
"""Numbers of this size or more mean "no limit": version 1 reports 2**63 - 1, rounded down to a whole page."""

# Limit, usage and the fields of memory.stat that the kernel can reclaim, for version 2 and then version 1. Exceeding
# memory.high does not kill a process, but slows down its allocations; training, which reads and writes all of its
# memory all the time, would hardly progress. Shared memory and tmpfs cannot be reclaimed and are not in these fields.
_CACHE = ("inactive_file", "active_file", "slab_reclaimable")
_MEMORY = (
    ("memory.max", "memory.current", _CACHE),
    ("memory.high", "memory.current", _CACHE),
    ("memory.limit_in_bytes", "memory.usage_in_bytes", ("total_inactive_file", "total_active_file")),
)


def cgroup_memory(proc: Path = PROC) -> int | None:
    """Return how many bytes this process can still allocate within the memory limits of its groups, or None.

    Each limit is compared with the usage of the group that has the limit. The page cache counts as free, because the
    kernel reclaims it before it kills a process. `proc` is the folder of the process in /proc.
    """
    free = []
    for group in _groups("memory", proc):
        for limit_file, used_file, cache in _MEMORY:
            limit, used = _number(_text(group / limit_file)), _number(_text(group / used_file))
            if limit is not None and used is not None:
                stat = dict(line.split(" ", 1) for line in _text(group / "memory.stat").split("\n") if " " in line)
                reclaimable = sum(_number(stat.get(field, "")) or 0 for field in cache)
                free.append(max(0, limit - max(0, used - reclaimable)))
    return min(free, default=None)


def cgroup_cpus(proc: Path = PROC) -> float | None:
    """Return how many CPUs the quotas of this process's groups grant, or None without a quota.

    The number is positive and may be a fraction. `proc` is the folder of the process in /proc.
    """
    granted = []
    for group in _groups("cpu", proc):
        version_1 = [_text(group / "cpu.cfs_quota_us"), _text(group / "cpu.cfs_period_us")]
        for fields in (_text(group / "cpu.max").split(), version_1):
            numbers = [_number(field) for field in fields]
            if len(numbers) == 2 and numbers[0] and numbers[1]:
                granted.append(numbers[0] / numbers[1])
    return min(granted, default=None)


def _groups(controller: str, proc: Path) -> Iterator[Path]:
    """Yield the visible folders of the groups that contain this process, in each hierarchy the innermost first."""
    entries = [line.split(":", 2) for line in _text(proc / "cgroup").split("\n") if line]
    own = {name: path for _, names, path in entries for name in names.split(",")}
    for hierarchy in ("", controller):  # the hierarchy of version 2 has no name
        if hierarchy not in own:
            continue
        path = _parts(own[hierarchy])
        mounts = _mounts(hierarchy, _text(proc / "mountinfo"))
        inside = [(point, path[len(root) :]) for point, root in mounts if path[: len(root)] == root]
        inside = [(point, names) for point, names in inside if ".." not in names]
        # A container may mount a different part of the hierarchy than the one that /proc names. The mounted group is
        # then the container's own.
        for point, names in inside or [(point, []) for point, _ in mounts[:1]]:
            for depth in range(len(names), -1, -1):
                yield point.joinpath(*names[:depth])


@lru_cache
def _mounts(hierarchy: str, mountinfo: str) -> list[tuple[Path, list[str]]]:
    """Return (mount point, path of the mounted group) for every mount of a hierarchy; "" means version 2."""
    roots: dict[str, str] = {}
    for line in filter(
        None, mountinfo.split("\n")
    ):  # names may have other line ends, which the kernel leaves as they are
        mount, _, filesystem = line.partition(" - ")
        (root, point), options = mount.split(" ")[3:5], filesystem.split(" ")
        roots.pop(point, None)  # a later mount hides an earlier one
        version_1 = options[0] == "cgroup" and hierarchy in options[2].split(",")
        if version_1 if hierarchy else options[0] == "cgroup2":
            roots[point] = root
    return [(Path(_unescaped(point)), _parts(_unescaped(root))) for point, root in roots.items()]


def _parts(path: str) -> list[str]:
    return [name for name in path.split("/") if name]


def _unescaped(path: str) -> str:
    r"""Return a path from mountinfo with its octal escapes, such as \040 for a space, replaced."""
    return re.sub(r"\\([0-3][0-7]{2})", lambda escape: chr(int(escape[1], 8)), path)


def _text(path: Path) -> str:
    try:
        return os.fsdecode(path.read_bytes())
    except OSError:
        return ""


def _number(text: str) -> int | None:
    """Return a count below NO_LIMIT, or None for anything else ("max", -1, a larger number, no text)."""
    with suppress(ValueError):
        if 0 <= (number := int(text)) < NO_LIMIT:
            return number
    return None
