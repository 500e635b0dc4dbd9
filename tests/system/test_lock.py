"""The lock pins every dependency by version and hash, names no machine, and is what the Makefile installs."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
DEPENDENCIES = [Requirement(line) for line in [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["dev"]]]
# One line per package: pip joins lines at a backslash.
ENTRIES = [line for line in LOCK.replace("\\\n", " ").splitlines() if line.strip() and not line.startswith("#")]
ABSOLUTE = re.compile(r"(?:^|[\s=@:'\"])(?:[/~]|[A-Za-z]:[\\/]|\\\\)", re.M)


def requirement(entry):
    return Requirement(entry.split(" --hash=", 1)[0].strip())


PINNED = {canonicalize_name(found.name): found for found in map(requirement, ENTRIES)}


def version(name):
    return next(iter(PINNED[canonicalize_name(name)].specifier)).version


def recipe(target):
    """Return the commands of a target of the Makefile, one line each."""
    found = re.search(rf"^{re.escape(target)}:.*\n((?:\t.*\n)+)", MAKEFILE.replace("\\\n", " "), re.M)
    assert found, target
    return found[1].splitlines()


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.split("==")[0])
def test_each_entry_has_one_version_and_hashes(entry):
    found = requirement(entry)
    assert found.url is None
    assert [s.operator for s in found.specifier] == ["=="]
    assert "*" not in str(found.specifier)
    options = entry.split(" --hash=")[1:]
    assert options
    assert all(re.fullmatch(r"sha256:[0-9a-f]{64}\s*", option) for option in options)


def test_no_package_is_locked_twice():
    assert len(PINNED) == len(ENTRIES) > len(DEPENDENCIES)


@pytest.mark.parametrize("dependency", DEPENDENCIES, ids=lambda dependency: dependency.name)
def test_each_dependency_is_locked_within_its_range(dependency):
    assert dependency.specifier.contains(version(dependency.name))


@pytest.mark.parametrize("system, machine", [("linux", "x86_64"), ("linux", "aarch64"), ("win32", "AMD64")])
@pytest.mark.parametrize("dependency", DEPENDENCIES, ids=lambda dependency: dependency.name)
def test_the_lock_installs_each_dependency_on_the_same_platforms_as_pyproject(dependency, system, machine):
    platform = {"sys_platform": system, "platform_machine": machine, "platform_python_implementation": "CPython"}
    markers = dependency.marker, PINNED[canonicalize_name(dependency.name)].marker
    wanted, locked = (marker is None or marker.evaluate(platform) for marker in markers)
    assert wanted == locked


def test_the_lock_serves_other_platforms_than_this_one():
    """tqdm and click need colorama on Windows: a lock frozen from a Linux environment would lack it."""
    assert "win32" in str(PINNED["colorama"].marker)
    wheels = [entry.count(" --hash=") for entry in ENTRIES if entry.startswith("numpy==")]
    assert wheels[0] > 20  # three versions of Python on at least seven platforms


def test_the_lock_names_no_host_and_no_path():
    assert "://" not in LOCK
    assert not ABSOLUTE.search(LOCK)
    options = {line.split("=")[0].strip() for line in LOCK.splitlines() if line.lstrip().startswith("-")}
    assert options == {"--hash"}  # no --index-url, no --find-links


@pytest.mark.parametrize("text", ["-e /home/me", "# via\n/srv", "x @ file:/x/y", "--find-links=~/w", "C:\\wheels"])
def test_an_absolute_path_would_be_found(text):
    assert ABSOLUTE.search(text)


def test_install_accepts_only_files_with_a_hash_of_the_lock():
    lock, package = (line for line in recipe(".venv/installed") if " pip install " in line)
    assert "--require-hashes -r requirements.lock" in lock
    assert "--no-deps --no-build-isolation --editable ." in package


def test_make_lock_resolves_for_all_platforms_from_the_oldest_python():
    command = next(line for line in recipe("lock") if "uv pip compile" in line)
    oldest = min(s.version for s in SpecifierSet(PROJECT["requires-python"]) if s.operator == ">=")
    for option in ("--universal", "--generate-hashes", "--extra dev", f"--python-version {oldest} "):
        assert option in command
    assert "index-url" not in command


def test_audit_fails_if_a_package_cannot_be_looked_up():
    command = next(line for line in recipe("audit") if "pip_audit" in line)
    assert "--strict" in command
    assert "requirements.lock" in command


@pytest.mark.parametrize("verb", ["test", "lint", "install"])
def test_no_verb_that_ci_runs_needs_the_audit_service(verb):
    rule = re.search(rf"^{verb}:(.*)##", MAKEFILE, re.M)
    assert rule
    assert "audit" not in rule[1]


@pytest.mark.parametrize("verb", ["lock", "audit"])
def test_verbs_of_the_lock_are_phony_and_have_help(verb):
    assert verb in re.search(r"^\.PHONY:(.*)$", MAKEFILE, re.M)[1].split()
    assert re.search(rf"^{verb}:.*## \S", MAKEFILE, re.M)


@pytest.mark.parametrize("name", ["SECURITY.md", "requirements.lock", "Makefile", "LICENSE"])
def test_the_source_distribution_has_it(name):
    assert name in PYPROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    assert (ROOT / name).is_file()


def test_the_security_policy_names_tests_that_exist():
    named = re.findall(r"`(tests/[\w./]+)`", (ROOT / "SECURITY.md").read_text(encoding="utf-8"))
    assert len(named) >= 3
    assert all((ROOT / name).exists() for name in named)
