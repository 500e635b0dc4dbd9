"""Everything about Numba: the flags of our kernels and where their machine code is kept.

No other module calls njit. Helpers of kernels are `inline` (register_jitable), so that they take the flags of
whichever kernel they end up in and stay plain Python functions that tests can call.
"""

import hashlib
import inspect
import logging
import os
import pickle
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numba
import platformdirs
from numba.core.caching import CompileResultCacheImpl, FunctionCache, NullCache
from numba.core.serialize import dumps
from numba.extending import overload_method, register_jitable

from w2vtrain.errors import reason
from w2vtrain.system.trust import open_trusted, trust

log = logging.getLogger(__name__)

PACKAGE = Path(__file__).parents[1]
COMPILED = ("kernels", "text", "probability", "objectives", "architectures", "engines")
"""The folders whose code is compiled into kernels. Beside them, a kernel depends on its own module only."""

UNUSED = 30 * 24 * 3600.0
"""Seconds after which machine code that was not used is deleted."""

DIGEST = hashlib.sha256().digest_size
# Not the full fastmath: that lets LLVM assume that there is no NaN, and divergence must be seen.
FASTMATH = {"reassoc", "contract", "arcp", "nsz"}

# Always into the kernel: a call passes each array as seven words, and windows are as short as 300 ns.
FORCED = {"forceinline": True}
inline: Any = register_jitable(**FORCED)


def kernel(nrt: bool = False) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function without the GIL and keep its machine code on disk.

    `nrt=False` forbids allocating and reference counting inside: worth up to 2x in the window kernel, and a test
    reads the LLVM code to see that it holds. A kernel that makes arrays needs `nrt=True`.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        compiled = numba.njit(nogil=True, error_model="numpy", fastmath=FASTMATH, _nrt=nrt)(function)
        folder = cache_folder()
        compiled._cache = KernelCache(function, folder) if folder else NullCache()
        return compiled

    return decorate


def compile_methods(protocol: type, names: tuple[str, ...]) -> None:
    """Let kernels call these methods of any NamedTuple: each class's own is compiled into the kernel by its type.

    Arguments are matched by the names that the Protocol declares.
    """
    for name in names:
        for kind in (numba.types.NamedTuple, numba.types.NamedUniTuple):
            overload_method(kind, name, jit_options=FORCED)(_method(name, inspect.signature(getattr(protocol, name))))


def _method(name: str, signature: inspect.Signature) -> Callable[..., Any]:
    def find(self: Any, *_: Any) -> Any:
        return getattr(self.instance_class, name, None)

    plain = [parameter.replace(annotation=parameter.empty) for parameter in signature.parameters.values()]
    find.__signature__ = inspect.Signature(plain)  # type: ignore[attr-defined]
    return find


@cache
def source_hash(folder: Path = PACKAGE) -> str:
    """Return the SHA-256 of all sources that kernels are made of: an edit to any of them recompiles every kernel."""
    digest = hashlib.sha256()
    for path in sorted(path for room in COMPILED for path in (folder / room).rglob("*.py")):
        digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


@cache
def cache_folder() -> Path | None:
    """Return the first folder that can be written and trusted; None if there is none.

    In this order: NUMBA_CACHE_DIR, the package's __pycache__, the user's cache. Machine code is run, so each file must
    be one that only this user or root could write, and the folder one that not everyone can write to.
    """
    candidates = [PACKAGE / "__pycache__", Path(platformdirs.user_cache_dir("w2vtrain"))]
    if named := os.environ.get("NUMBA_CACHE_DIR"):  # numba.config may have it from a file in the working folder, too
        candidates.insert(0, Path(named))
    for folder in candidates:
        try:
            folder.mkdir(0o700, parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()
        except OSError:
            continue
        try:
            trust(folder)
        except OSError as error:
            _refuse(folder, error)
            continue
        return folder
    return None


_refused: set[Path] = set()


def _refuse(path: Path, error: OSError) -> None:
    """Say once per process that a folder or a file of machine code is not used, and why."""
    if path not in _refused:
        _refused.add(path)
        log.warning("%s: compiled code that is kept there is not used: %s", path, reason(error))


def _named_tuples(kind: Any) -> Iterator[type]:
    """The NamedTuple classes among a signature's types: their methods are compiled into the kernel."""
    if (named := getattr(kind, "instance_class", None)) is not None:
        yield named
    for part in getattr(kind, "types", ()):
        yield from _named_tuples(part)


class KernelCache(FunctionCache):
    """One file a kernel and signature, named by a hash of all that the machine code depends on.

    Numba's own cache looks at the kernel's file alone, and numbers its data files through an index that two
    processes may race for, so that one loads the other's code. Here a name says everything and never changes its
    content: there is nothing to race for and nothing to invalidate. What was not used for a month is deleted.
    """

    def __init__(self, function: Callable[..., Any], folder: Path) -> None:
        self._name, self._py_func, self._folder = function.__qualname__, function, folder
        self._impl = _Implementation()
        self._cache_path = str(folder)
        self.enable()

    def path(self, sig: Any, codegen: Any) -> Path:
        """Where the machine code for this signature on this processor belongs."""
        classes = [c for argument in sig for c in _named_tuples(argument)]
        outside = {f"{c.__module__}.{c.__qualname__}": _module_hash(c.__module__) for c in classes}
        outside[self._py_func.__module__] = _module_hash(self._py_func.__module__)
        _, processor, code = self._index_key(sig, codegen)  # the last: bytecode, and what the function closes over
        flags = (numba.__version__, numba.config.OPT, numba.config.BOUNDSCHECK)
        key = repr((source_hash(), outside, self._name, str(sig), processor, code, flags))
        return self._folder / f"{self._py_func.__name__}-{hashlib.sha256(key.encode()).hexdigest()[:32]}.machine"

    def _load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            path = self.path(sig, target_context.codegen())
            stored = self._stored(path)
        except OSError:
            return None
        with suppress(OSError):
            os.utime(path)
        digest, data = stored[:DIGEST], stored[DIGEST:]
        if hashlib.sha256(data).digest() != digest:
            return None
        # Numba's own format for its own object code, which can run anything: `_stored` has seen that only this user
        # or root can have written the file.
        return self._impl.rebuild(target_context, pickle.loads(data))

    def _stored(self, path: Path) -> bytes:
        try:
            with os.fdopen(open_trusted(path, os.O_RDONLY, trust(self._folder), group=False), "rb") as file:
                return file.read()
        except PermissionError as error:
            _refuse(path, error)
            raise

    def _save_overload(self, sig: Any, data: Any) -> None:
        if not self._impl.check_cachable(data):
            return
        path, code = self.path(sig, data.codegen), dumps(self._impl.reduce(data))
        handle, temporary = tempfile.mkstemp(dir=self._folder, prefix=".machine-")
        try:
            with os.fdopen(handle, "wb") as f:
                f.write(hashlib.sha256(code).digest() + code)
            Path(temporary).replace(path)
            self._forget(path.stat().st_mtime - UNUSED)
        except OSError:  # a full disk costs the cache, not the run
            Path(temporary).unlink(missing_ok=True)

    def _forget(self, since: float) -> None:
        """Delete what nobody has loaded or saved since then: the kernels of other versions."""
        for other in self._folder.glob(f"*-{'[0-9a-f]' * 32}.machine"):
            with suppress(OSError):
                if other.stat().st_mtime < since:
                    other.unlink()

    def flush(self) -> None:
        """Nothing to do: names never become stale."""


class _Implementation(CompileResultCacheImpl):
    """Numba's serialization of compiled code without its choice of folder."""

    def __init__(self) -> None:
        pass


@cache
def _module_hash(name: str) -> str:
    path = getattr(sys.modules.get(name), "__file__", None)
    return hashlib.sha256(Path(path).read_bytes()).hexdigest() if path else ""
