"""The locks pin what pyproject.toml requires, without hosts and paths, and `make` accepts only files with their hashes.

pip refuses entries without a hash and two versions of a package.
"""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
LOCK, USER_LOCK = (
    (ROOT / name).read_text(encoding="utf-8") for name in ("requirements.lock", "requirements-user.lock")
)
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
USER_DEPENDENCIES = [Requirement(line) for line in PROJECT["dependencies"]]
TOOLS = [Requirement(line) for line in PROJECT["optional-dependencies"]["dev"]]
DEPENDENCIES = [*USER_DEPENDENCIES, *TOOLS]
ABSOLUTE = re.compile(r"(?:^|[\s=@:'\"])(?:[/~]|[A-Za-z]:[\\/]|\\\\)", re.M)


def entries(lock):
    """Return one line per version of a package: pip joins lines that end with a backslash."""
    return [line for line in lock.replace("\\\n", " ").splitlines() if line.strip() and not line.startswith("#")]


def requirement(entry):
    return Requirement(entry.split(" --hash=", 1)[0].strip())


PINNED, USER_PINNED = (list(map(requirement, entries(lock))) for lock in (LOCK, USER_LOCK))
SYSTEMS = [("linux", "x86_64"), ("linux", "aarch64"), ("win32", "AMD64")]
PYTHONS = ["3.11", "3.12", "3.13", "3.14", "3.15"]


def environment_of(system, machine, python):
    return {
        "sys_platform": system,
        "platform_machine": machine,
        "platform_python_implementation": "CPython",
        "python_version": python,
        "python_full_version": f"{python}.1",
    }


ENVIRONMENTS = [environment_of(*platform, python) for platform in SYSTEMS for python in PYTHONS]


def installed(requirements, environment):
    """Return (name, specifier) of the requirements that pip installs in an environment."""
    return [
        (canonicalize_name(found.name), found.specifier)
        for found in requirements
        if found.marker is None or found.marker.evaluate(environment)
    ]


def recipe(target):
    """Return the commands of a Makefile target, one per line."""
    found = re.search(rf"^{re.escape(target)}:.*\n((?:\t.*\n)+)", MAKEFILE.replace("\\\n", " "), re.M)
    assert found, target
    return found[1].splitlines()


@pytest.mark.parametrize(
    ("dependencies", "pinned"), [(DEPENDENCIES, PINNED), (USER_DEPENDENCIES, USER_PINNED)], ids=["all", "user"]
)
def test_a_lock_installs_the_dependencies_of_pyproject_in_each_environment(dependencies, pinned):
    direct = {canonicalize_name(dependency.name) for dependency in dependencies}
    for environment in ENVIRONMENTS:
        wanted, locked = installed(dependencies, environment), dict(installed(pinned, environment))
        assert direct & set(locked) == {name for name, _ in wanted}, environment
        for name, allowed in wanted:
            assert allowed.contains(next(iter(locked[name])).version), (name, environment)


@pytest.mark.parametrize("lock", [LOCK, USER_LOCK], ids=["all", "user"])
def test_a_lock_contains_no_host_and_no_path(lock):
    assert "://" not in lock
    assert not ABSOLUTE.search(lock)
    options = {line.split("=")[0].strip() for line in lock.splitlines() if line.lstrip().startswith("-")}
    assert options == {"--hash"}  # no --index-url, no --find-links


def test_make_accepts_only_files_whose_hash_is_in_the_lock():
    lock, package, tools = (
        line for target in (".venv/installed", ".venv/tools") for line in recipe(target) if " pip install " in line
    )
    assert "--require-hashes -r requirements-user.lock" in lock
    assert "--no-deps --no-build-isolation --editable ." in package
    assert "--require-hashes -r requirements.lock" in tools
