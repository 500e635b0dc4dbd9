"""Find, load and verify objectives and architectures, including those in users' own modules.

A registry does not know its members by name: it looks in its folder, in the entry points of other packages, and at the
file or module that a user names. It decides whether code may run, but knows nothing about what the code computes.
"""

import importlib
import importlib.util
import inspect
import os
import pkgutil
import sys
import zlib
from collections.abc import Callable, Iterable, Mapping
from contextlib import chdir, suppress
from dataclasses import dataclass
from functools import cache, cached_property, partial
from pathlib import Path
from traceback import walk_tb
from typing import Any

from w2vtrain.errors import ConfigError, W2VError, shown, spelled
from w2vtrain.other_programs import OTHER_NAMES
from w2vtrain.system.files import resolved

_user_modules: set[str] = set()
"""The names of the modules of users' members that were loaded."""
RESERVED = ("contract",)
"""Modules in a registry's folder that are not members."""


RESERVED_ARRAYS = frozenset({"input", "output", "bias", "input_rows", "documents", "document_tags"})
"""Array names that models and checkpoints reserve; a member's own arrays must use other names."""


class CodeNotAllowed(ConfigError):
    """Raised for a member in a file or module that the command line does not name. Exit code 78."""


@dataclass(frozen=True)
class Contract:
    """The members of a class, as a Protocol declares them.

    required: the members that the class must have; the others are defaults, which `verify` adds to a class that lacks
    them, since a NamedTuple cannot inherit them. compiled: methods that become part of a kernel; their arguments must
    have the same names as in the Protocol. named_tuple: the class must be a NamedTuple, as kernels require.
    """

    protocol: type
    required: tuple[str, ...]
    compiled: tuple[str, ...] = ()
    named_tuple: bool = False

    def verify(self, cls: Any, subject: str) -> None:
        """Check a class and add the Protocol's defaults; ConfigError says what is missing or wrong, and where."""
        if not inspect.isclass(cls):
            raise ConfigError(f"{subject}: expected a class, got {shown(cls)}")
        if self.named_tuple and not (issubclass(cls, tuple) and hasattr(cls, "_fields")):
            raise breach(cls, subject, "is not a typing.NamedTuple, as kernels require")
        problems = [self._problem(cls, name, member) for name, member in self._members.items()]
        if any(problems):
            raise breach(cls, subject, "; ".join(filter(None, problems)))
        for name, member in self._members.items():
            if not (hasattr(cls, name) or isinstance(member, property)):
                setattr(cls, name, member)

    def verify_built(self, instance: Any, subject: str) -> None:
        """Raise ConfigError if an instance lacks an attribute of the contract."""
        missing = [name for name, member in self._members.items() if not hasattr(instance, name)]
        if missing:
            raise ConfigError(f"{class_description(type(instance), subject)}, which build returns, has no {missing[0]}")

    @cached_property
    def _members(self) -> dict[str, Any]:
        """All public members (functions, properties, values) by name, those of base Protocols first."""
        members: dict[str, Any] = {}
        for base in reversed(self.protocol.__mro__):
            if base.__module__ == self.protocol.__module__:
                members |= {name: member for name, member in vars(base).items() if not name.startswith("_")}
        return members

    def _problem(self, cls: type, name: str, member: Any) -> str | None:
        """Return what is wrong with one member of a class, as text, or None."""
        function = _function_of(member)
        if not hasattr(cls, name):
            later = isinstance(member, property) and not self.named_tuple  # set by the constructor
            return f"has no {_declared(name, member)}" if name in self.required and not later else None
        own = getattr(cls, name)
        if isinstance(member, property):
            return f"has a method {name}, which must be a property" if inspect.isfunction(own) else None
        if function is None and (member is not None or own is None):
            return None
        if not callable(own):
            return f"has {name} = {shown(own)}, which is not a method"
        if function is not None and not _fits(own, member, name in self.compiled):
            return f"needs {_declared(name, member)}, but has {_declared(name, inspect.getattr_static(cls, name))}"
        return None


def _function_of(member: Any) -> Any:
    """Return the function behind a method or class method; None for a plain value or a property."""
    return getattr(member, "__func__", member if inspect.isfunction(member) else None)


def _declared(name: str, member: Any) -> str:
    """Return a member's declaration: a method's kind and parameters without annotations, or a property's name."""
    if isinstance(member, property):
        return name
    kind = {classmethod: "class method ", staticmethod: "static method "}.get(type(member), "")
    signature = inspect.signature(_function_of(member) or member)
    plain = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    return f"{kind}{name}{inspect.Signature(plain)}"


def _fits(own: Any, member: Any, by_name: bool) -> bool:
    """Return whether a method accepts the arguments that a member declares; if `by_name`, under the same names."""
    declared = inspect.signature(_function_of(member)).parameters.values()
    names = [p.name for p in declared if p.kind is p.POSITIONAL_OR_KEYWORD]
    if isinstance(member, classmethod):
        if not inspect.ismethod(own):
            return False
        names = names[1:]  # cls is bound already
    try:
        signature = inspect.signature(own)
        if by_name:
            return list(signature.parameters) == names
        signature.bind(*names)
    except TypeError:
        return False
    return True


def user_line(error: BaseException) -> str | None:
    """Return the file and the innermost line of user code that an exception has passed through, or None."""
    frames = [place for place in walk_tb(error.__traceback__) if place[0].f_globals.get("__name__") in _user_modules]
    return f"{frames[-1][0].f_code.co_filename}, line {frames[-1][1]}" if frames else None


def is_ours(cls: type) -> bool:
    """Return whether a class is part of this package."""
    return cls.__module__.startswith(f"{__package__}.")


def class_description(cls: type, subject: str) -> str:
    """Return a class's description for messages: its purpose, name, file and line."""
    return f"{subject}: class {cls.__qualname__} ({_place_of(cls)})"


def breach(cls: type, subject: str, fault: str) -> ConfigError:
    """Return the error for a class that breaks its contract. fault: the sentence after its name."""
    return ConfigError(f"{class_description(cls, subject)} {fault}")


def _place_of(cls: type) -> str:
    try:
        return f"{Path(inspect.getsourcefile(cls) or '').name}:{inspect.getsourcelines(cls)[1]}"
    except (OSError, TypeError):
        return str(cls.__module__)


def check_names(names: Iterable[str], subject: str) -> None:
    """Raise ConfigError if an array of a member has a reserved name: it would hide another array in files."""
    if taken := sorted(RESERVED_ARRAYS & set(names)):
        raise ConfigError(f"{subject}: its array {taken[0]!r} has a reserved name; rename it")


def built(cls: Any, subject: str, *arguments: Any, **options: Any) -> Any:
    """Return the result of a member's `build`; any exception but W2VError and MemoryError becomes a ConfigError."""
    try:
        return cls.build(*arguments, **options)
    except (W2VError, MemoryError):
        raise
    except Exception as error:
        raise ConfigError(f"{subject}: build failed: {type(error).__name__}: {error}") from error


@cache
def members(folder: str) -> tuple[str, ...]:
    """Return the names of the members that come with the package: list the folder, import nothing."""
    modules = pkgutil.iter_modules([str(Path(__file__).parent / folder)])
    return tuple(info.name.replace("_", "-") for info in modules if info.name not in RESERVED)


def our_name(kind: str, name: Any) -> Any:
    """Return our name for an objective or architecture that has another elsewhere, in any case; else `name`.

    kind: "objective" or "architecture"; any other setting has values without other names.
    """
    if kind not in OTHER_NAMES:
        return name
    plain = str(name).lower().replace("_", "-").replace(" ", "-")
    return plain if plain in members(f"{kind}s") else OTHER_NAMES[kind].get(plain, name)


class Registry:
    """The members of one kind, by name: modules in a folder, from entry points, or named by a user.

    package: the folder as a package, whose name is also the group of entry points; kind: for example "objective";
    attributes: what a module must define. `verify(module, name)` raises ConfigError for a module that breaks its
    contract.
    """

    def __init__(
        self, package: str, kind: str, attributes: tuple[str, ...], verify: Callable[[Any, str], None]
    ) -> None:
        self.package, self.kind, self.attributes, self._verify = package, kind, attributes, verify
        self._allowed: set[str] = set()
        self._checked: dict[str, Any] = {}
        self._names: dict[str, type] = {}

    @cached_property
    def loaders(self) -> Mapping[str, Callable[[], Any]]:
        """A function per registered member that imports its module; a run needs only one of them."""
        from importlib.metadata import entry_points  # slow, and --help does not need it

        modules = {name: f"{self.package}.{name.replace('-', '_')}" for name in members(self.package.split(".")[-1])}
        ours = {name: partial(importlib.import_module, module) for name, module in modules.items()}
        return {entry.name: entry.load for entry in entry_points(group=self.package)} | ours

    def modules(self) -> dict[str, Any]:
        """Import all registered members and return their modules by name."""
        return {name: self.module(name) for name in self.loaders}

    def module(self, name: str) -> Any:
        """Return the module of a member: a registered one, a file, or a module on Python's path.

        Raise ConfigError if it does not exist, cannot be imported or breaks the contract, and CodeNotAllowed if it is
        user code that was not named.
        """
        name = name if name in self.loaders else our_name(self.kind, name)
        if name not in self.loaders and not is_code(name):
            others = [kind for kind in OTHER_NAMES if our_name(kind, name) in members(f"{kind}s")]
            instead = (
                f"use {spelled(others[0], name)}" if others else f"choose one of {', '.join(sorted(self.loaders))}"
            )
            raise ConfigError(f"{self.kind} {name!r}: {instead}")
        self.require_allowed(name)
        place = name if name in self.loaders else placed(name)
        if place not in self._checked:
            self._checked[place] = self._verified(name, self.loaders.get(name) or partial(_outside, place, self.kind))
        return self._checked[place]

    def sources(self, name: str) -> list[Path]:
        """Return the user's files that define a member: those of its module, of its class and of the class's bases.

        A member that comes with the package has none. Raise the errors of `module`, which imports the member.
        """
        module = self.module(name)
        classes = inspect.getmro(getattr(module, self.attributes[0]))
        place = module.__name__ if inspect.ismodule(module) else module.__module__  # an entry point may name an object
        names = {place, *(cls.__module__ for cls in classes)}
        own = [name for name in sorted(names) if name.split(".")[0] not in (__package__, *sys.stdlib_module_names)]
        files = [getattr(sys.modules.get(name), "__file__", None) for name in own]
        return [Path(file) for file in files if file]

    def _verified(self, name: str, load: Callable[[], Any]) -> Any:
        try:
            module = load()
        except (Exception, SystemExit) as error:  # importing a user's module may raise anything
            raise ConfigError(f"{self.kind} {name}: cannot be imported: {type(error).__name__}: {error}") from error
        if missing := [member for member in self.attributes if not hasattr(module, member)]:
            raise ConfigError(f"{self.kind} {name}: the module has no {missing[0]}")
        self._verify(module, f"{self.kind} {name}")
        cls = getattr(module, self.attributes[0])
        self._rename(cls)
        if not is_ours(cls):
            _user_modules.add(cls.__module__)
        return module

    def _rename(self, cls: type) -> None:
        """Rename a class if another has its name: Numba treats NamedTuples of the same name as one type."""
        if self._names.setdefault(cls.__name__, cls) is not cls:
            cls.__name__ = f"{cls.__name__}_{zlib.crc32(cls.__module__.encode())}"

    def allow_code(self, name: str | None) -> None:
        """Permit the code of a member in a file or module to run.

        Pass only a name that the user gave, on the command line or as an argument in Python. Settings, models and run
        folders may come from anyone, and loading such a member runs its code. Raise ConfigError for a file that has
        changed since it was loaded: its old code would run.
        """
        if name and name not in self.loaders:
            place = placed(name)
            if (stamp := _stamp(place)) is not None and stamp != _stamps.get(place, stamp):
                raise ConfigError(f"{self.kind} {name}: the file has changed since it was loaded: start Python again")
            self._allowed.add(place)

    def require_allowed(self, name: str, folder: str | Path = ".") -> None:
        """Raise CodeNotAllowed for a file (relative to `folder`) or module that was not passed to `allow_code`."""
        if name not in self.loaders and is_code(name) and placed(name, folder) not in self._allowed:
            is_found = not name.endswith(".py") or os.path.exists(placed(name, folder))  # noqa: PTH110 - for any text
            here = placed_here(name, folder)
            option = spelled(self.kind, here) if is_found else f"{spelled(self.kind)} and the path of {Path(name).name}"
            raise CodeNotAllowed(
                f"{self.kind} {name} is code that the command line does not name: to run it, add {option}"
            )


def is_code(name: str) -> bool:
    """Return whether a name is that of a file or module rather than a registered member."""
    return name.endswith(".py") or ("." in name and not name.startswith("."))  # no name of a module begins with one


def member_name(name: str) -> str:
    """Return a name without the folder of a file of code, which may move."""
    return Path(name).name if name.endswith(".py") else name


def is_same_member(name: str, old: str, folder: str | Path = ".") -> bool:
    """Return whether `name` means what `old` means in `folder`: the same member or file, or one that may be that file.

    It may be if it has the same file name and the old file is gone.
    """
    before, now = placed(old, folder), placed(name)
    has_moved = not os.path.exists(before)  # noqa: PTH110 - for any text
    return before == now or (has_moved and member_name(before) == member_name(now))


def placed(name: str, folder: str | Path = ".") -> str:
    """Return a name that is valid in any working directory: a file relative to `folder` becomes absolute."""
    return str(resolved(Path(folder, name))) if name.endswith(".py") and "\0" not in f"{folder}{name}" else name


def placed_here(name: str, folder: str | Path) -> str:
    """Return a name that means in the working directory what `name` means in `folder`: itself, or an absolute path."""
    place = placed(name, folder)
    return name if place == placed(name) else place


_stamps: dict[str, int | None] = {}
"""The files and modules of code that were loaded, each as it was then: see `_stamp`."""


def _stamp(place: str) -> int | None:
    """Return the CRC-32 of a file, or of that of a module; None if it cannot be read, or if there is none yet."""
    file = place if place.endswith(".py") else getattr(sys.modules.get(place), "__file__", None)
    with suppress(OSError):
        return zlib.crc32(Path(file or "").read_bytes())
    return None


@cache
def _outside(name: str, kind: str) -> Any:
    if not name.endswith(".py"):
        named = importlib.import_module(name)
        _stamps[name] = _stamp(name)
        return named
    path, stamp = Path(name), _stamp(name)
    module_name = f"{kind}_{zlib.crc32(str(path).encode())}"  # unique, and the same in every process
    spec = importlib.util.spec_from_file_location(module_name, path)
    if spec is None or spec.loader is None:
        raise ImportError("not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module  # kernels look up their source code here
    with chdir(resolved(".")):  # if the user's code changes the folder, relative names on the command line stay valid
        spec.loader.exec_module(module)
    _stamps[name] = stamp
    return module
