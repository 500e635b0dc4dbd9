"""Tests of the locks: they pin every dependency by version and hash, and `make install` and `make demo` use them."""

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


ENTRIES, USER_ENTRIES = entries(LOCK), entries(USER_LOCK)
PINNED, USER_PINNED = (list(map(requirement, found)) for found in (ENTRIES, USER_ENTRIES))
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


def test_each_entry_has_one_version_and_hashes():
    for entry in ENTRIES:
        found, (_, *options) = requirement(entry), entry.split(" --hash=")
        assert found.url is None, entry
        assert [s.operator for s in found.specifier] == ["=="], entry
        assert "*" not in str(found.specifier), entry
        assert options, entry
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64}\s*", option) for option in options), entry


def test_no_environment_gets_two_versions_of_a_package():
    for environment in ENVIRONMENTS:
        names = [name for name, _ in installed(PINNED, environment)]
        assert len(names) == len(set(names)) > 30, environment


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


def test_users_get_the_locked_versions_and_no_tool_but_the_build_backend():
    for environment in ENVIRONMENTS:
        user, everything = (dict(installed(pinned, environment)) for pinned in (USER_PINNED, PINNED))
        assert user.items() < everything.items(), environment
        assert user.keys() & dict(installed(TOOLS, environment)).keys() == {"hatchling", "editables"}, environment


def test_both_locks_have_the_same_hashes_of_a_package():
    user, everything = (
        {entry.split()[0]: entry.split(" --hash=")[1:] for entry in found} for found in (USER_ENTRIES, ENTRIES)
    )
    assert user.items() < everything.items()


def test_packages_without_wheels_for_a_python_version_are_omitted_for_it():
    found = {python: dict(installed(PINNED, environment_of("linux", "x86_64", python))) for python in PYTHONS}
    assert [python for python in PYTHONS if "gensim" in found[python]] == ["3.11", "3.12", "3.13"]
    assert [python for python in PYTHONS if "atheris" in found[python]] == ["3.11", "3.12", "3.13", "3.14"]
    assert all("numba" in names for names in found.values())


def test_the_lock_covers_other_platforms_than_this_one():
    """tqdm and click need colorama on Windows; a lock file made with `pip freeze` on Linux would lack it."""
    assert ["win32" in str(found.marker) for found in PINNED if found.name == "colorama"] == [True]
    wheels = [entry.count(" --hash=") for entry in ENTRIES if entry.startswith("numpy==")]
    assert wheels[0] > 20  # wheels for several Python versions on at least seven platforms


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


@pytest.mark.parametrize(
    "name",
    [
        *("SECURITY.md", "CONTRIBUTING.md", "docs", "examples", "requirements.lock", "requirements-user.lock"),
        *("Makefile", "LICENSE"),
    ],
)
def test_the_source_distribution_includes_the_file(name):
    assert name in PYPROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    assert (ROOT / name).exists()


def test_the_security_policy_names_tests_that_exist():
    named = re.findall(r"`(tests/[\w./]+)`", (ROOT / "SECURITY.md").read_text(encoding="utf-8"))
    assert len(named) >= 3
    assert all((ROOT / name).exists() for name in named)
