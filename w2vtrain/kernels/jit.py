"""Compilation of kernels with Numba: the compiler flags, and a cache of machine code on disk.

It contains no kernels, and no other module calls njit. Functions that kernels call are `inline` (register_jitable):
they are compiled with the flags of the calling kernel and remain plain Python functions that tests can call.
"""

import gc
import hashlib
import inspect
import logging
import os
import pickle
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import numba
import platformdirs
from numba.core.caching import CompileResultCacheImpl, FunctionCache, NullCache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.serialize import dumps
from numba.core.typed_passes import NativeLowering
from numba.extending import overload_method, register_jitable

from w2vtrain.errors import ConfigError, reason
from w2vtrain.system.spinner import SPINNER
from w2vtrain.system.trust import open_trusted, trust

log = logging.getLogger(__name__)

if numba.config.DISABLE_JIT:
    raise ConfigError("NUMBA_DISABLE_JIT: w2vtrain needs Numba's compiler: unset this environment variable")

PACKAGE = Path(__file__).parents[1]
COMPILED = ("kernels", "text", "probability", "objectives", "architectures", "engines")
"""Folders whose code is compiled into kernels, besides the kernel's own module and those of its NamedTuples."""

UNUSED_SECONDS = 30 * 24 * 3600.0
"""Seconds after which unused machine code is deleted."""

INSTALLED = {"site-packages", "dist-packages"}
"""Names of folders of packages that users install."""
DIGEST_BYTES = hashlib.sha256().digest_size
# Full fastmath lets LLVM assume that NaN never occurs, which would hide divergence.
FASTMATH = {"reassoc", "contract", "arcp", "nsz"}

# Wrappers for calls from C, which we do not need, took a tenth of the compilation time.
UNWRAPPED = {"no_cfunc_wrapper": True}


@contextmanager
def _uncollected() -> Iterator[None]:
    """Suspend Python's search for cycles, which would look at the many objects of the compiler again and again.

    This saves about a tenth of the time, and takes 35 MB until the end.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class _KernelCompiler(Compiler):
    """Numba's compiler, which does not search for cycles, and shows on a terminal how long it takes."""

    def compile_extra(self, func: Any) -> Any:
        with _uncollected(), SPINNER.during("w2vtrain: compiling for this processor, once"):
            return super().compile_extra(func)


class _InlinedLibrary(JITCodeLibrary):
    """The LLVM code of a function that is only inlined: never turned into machine code, optimized fully in its kernel.

    Numba would do both for every function. A module that was given to LLVM's engine is turned into machine code by the
    next kernel at the latest, so none is given.
    """

    def _optimize_final_module(self) -> None:
        passes, builder = self._codegen._module_pass_manager(opt=self._codegen._opt_level, cost="cheap")
        passes.run(self._final_module, builder)

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class _InlinedLowering(NativeLowering):
    _name = "inlined_lowering"

    def run_pass(self, state: Any) -> Any:
        library = state.library = _InlinedLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        # Numba finds the code of a function by its entry point; without one, any function of the library will do.
        key = library.__sizeof__
        state.targetctx.insert_user_function(key, state["cr"].fndesc, [library])
        state["cr"] = state["cr"]._replace(cfunc=key)
        return True


class _InlinedCompiler(CompilerBase):
    """Numba's compiler, with `_InlinedLibrary` for the code that it produces."""

    def define_pipelines(self) -> list[Any]:
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [(_InlinedLowering if kind is NativeLowering else kind, name) for kind, name in passes.passes]
        passes.finalize()
        return [passes]


# Always inline: a call passes each array as seven machine words, and a window takes as little as 300 ns.
FORCED = {"forceinline": True, "no_cpython_wrapper": True, "pipeline_class": _InlinedCompiler, **UNWRAPPED}
inline: Any = register_jitable(**FORCED)


def kernel(nrt: bool = False, exact: bool = False) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator that compiles a function to run without the GIL and caches its machine code on disk.

    `nrt=False` forbids memory allocation and reference counting, which makes the window kernel up to twice as fast; a
    test searches the LLVM code for both. A kernel that creates arrays needs `nrt=True`. `exact`: round as IEEE 754
    says, not as FASTMATH allows.
    """
    flags = {"nogil": True, "error_model": "numpy", "fastmath": not exact and FASTMATH, "_nrt": nrt, **UNWRAPPED}

    def decorate(function: Callable[..., Any]) -> Any:
        compiled = numba.njit(pipeline_class=_KernelCompiler, **flags)(function)
        folder = cache_folder()
        compiled._cache = KernelCache(function, folder) if folder else NoCache()
        return compiled

    return decorate


_listeners: list[Callable[[], None]] = []


@contextmanager
def on_compilation(call: Callable[[], None]) -> Iterator[None]:
    """Call `call` before each kernel that is compiled, rather than loaded, during the block, in whichever thread."""
    _listeners.append(call)
    try:
        yield
    finally:
        _listeners.remove(call)


def _announce() -> None:
    for call in tuple(_listeners):
        call()


def compile_methods(protocol: type, names: tuple[str, ...]) -> None:
    """Let kernels call the named methods on any NamedTuple.

    Numba picks the method by the type of the NamedTuple and compiles it into the kernel. Arguments are matched by the
    names that `protocol` declares.
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
    """Return the SHA-256 of all sources in the COMPILED folders: an edit to any of them recompiles every kernel."""
    digest = hashlib.sha256()
    for path in sorted(path for name in COMPILED for path in (folder / name).rglob("*.py")):
        digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


@cache
def cache_folder() -> Path | None:
    """Return the cache folder: the first candidate that is writable and trusted, or None.

    The candidates are NUMBA_CACHE_DIR, the package's __pycache__ and the user's cache folder, in this order. Cached
    machine code is executed, so only this user or root may be able to write the files, and the folder must not be
    writable by everyone.
    """
    candidates = [PACKAGE / "__pycache__", Path(platformdirs.user_cache_dir("w2vtrain"))]
    # Not numba.config: it also reads a configuration file in the working folder, which others may have written.
    if named := os.environ.get("NUMBA_CACHE_DIR"):
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
    """Warn once per process that a folder or file of machine code is ignored, with the reason."""
    if path not in _refused:
        _refused.add(path)
        log.warning("%s: ignoring this cache of compiled code: %s", path, reason(error))


def _named_tuples(kind: Any) -> Iterator[type]:
    """Yield the NamedTuple classes in an argument type, nested ones included: kernels contain their methods."""
    if (named := getattr(kind, "instance_class", None)) is not None:
        yield named
    for member in getattr(kind, "types", ()):
        yield from _named_tuples(member)


class NoCache(NullCache):
    """The cache of a process that may write to no folder."""

    def load_overload(self, sig: Any, target_context: Any) -> None:
        """Return None: the kernel is compiled."""
        _announce()


class KernelCache(FunctionCache):
    """A cache with one file per kernel and signature, named by a hash of everything the machine code depends on.

    Numba's own cache checks only the kernel's source file, and numbers its data files in an index. Two processes can
    race for that index, so that one loads the other's code. Here the content behind a name never changes, so there is
    nothing to race for and nothing to invalidate. Files that have not been used for a month are deleted.
    """

    def __init__(self, function: Callable[..., Any], folder: Path) -> None:
        self._name, self._py_func, self._folder = function.__qualname__, function, folder
        self._impl = _Implementation()
        self._cache_path = str(folder)
        self.enable()

    def path(self, sig: Any, codegen: Any) -> Path:
        """Return the path of the machine code for this signature on this processor."""
        classes = [c for argument in sig for named in _named_tuples(argument) for c in named.__mro__]
        outside = list(map(str, classes)), _code_hash(frozenset(c.__module__ for c in (self._py_func, *classes)))
        _, processor, code = self._index_key(sig, codegen)  # code: hashes of the bytecode and the closure's values
        flags = (numba.__version__, numba.config.OPT, numba.config.BOUNDSCHECK)
        key = repr((source_hash(), outside, self._name, str(sig), processor, code, flags))
        return self._folder / f"{self._py_func.__name__}-{hashlib.sha256(key.encode()).hexdigest()[:32]}.machine"

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled function from the cache; if it has none, return None and let it be announced.

        Numba's own method first loads all that a compiler needs, which takes half a second, and which machine code does
        not need. If nothing is in the cache, the compiler loads it.
        """
        with self._guard_against_spurious_io_errors():
            loaded = self._load_overload(sig, target_context)
        if loaded is None:
            _announce()
        return loaded

    def _load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            path = self.path(sig, target_context.codegen())
            stored = self._stored(path)
        except OSError:
            return None
        with suppress(OSError):
            os.utime(path)
        digest, data = stored[:DIGEST_BYTES], stored[DIGEST_BYTES:]
        if hashlib.sha256(data).digest() != digest:
            return None
        # Unpickling can run any code, but Numba stores its object code in this format. `_stored` has checked that
        # only this user or root can have written the file.
        return self._impl.rebuild(target_context, pickle.loads(data))

    def _stored(self, path: Path) -> bytes:
        try:
            trust(self._folder)
            with os.fdopen(open_trusted(path), "rb") as file:
                return file.read()
        except PermissionError as error:
            _refuse(path, error)
            raise

    def _save_overload(self, sig: Any, data: Any) -> None:
        if not self._impl.check_cachable(data):
            return
        path, code = self.path(sig, data.codegen), dumps(self._impl.reduce(data))
        temporary = None
        try:
            handle, temporary = tempfile.mkstemp(dir=self._folder, prefix=".machine-")
            with os.fdopen(handle, "wb") as f:
                f.write(hashlib.sha256(code).digest() + code)
            Path(temporary).replace(path)
            self._forget(path.stat().st_mtime - UNUSED_SECONDS)
        except OSError as error:  # with a full disk, the run continues without the cache
            _refuse(self._folder, error)
            if temporary:
                with suppress(OSError):
                    Path(temporary).unlink()

    def _forget(self, since: float) -> None:
        """Delete files that were last loaded or saved before this time: kernels of other versions."""
        for other in self._folder.glob(f"*-{'[0-9a-f]' * 32}.machine"):
            with suppress(OSError):
                if other.stat().st_mtime < since:
                    other.unlink()

    def flush(self) -> None:
        """Do nothing: a name never becomes stale."""


class _Implementation(CompileResultCacheImpl):
    """Numba's serialization of compiled code, without Numba's choice of a cache folder."""

    def __init__(self) -> None:
        pass


@cache
def _code_hash(modules: frozenset[str]) -> str:
    """Return a hash of the code of users' modules and of all others that are loaded: they may use one another.

    Of installed packages, only those that these modules belong to count. None of Python and of this package does.
    """
    ours = {"w2vtrain", *sys.stdlib_module_names}
    own, digest = {name.split(".")[0] for name in modules} - ours, hashlib.sha256()
    for name, module in sorted(sys.modules.items()) if own else ():
        package, file = name.split(".")[0], _file_of(module)
        others = package in ours or package == "__main__" or not file or INSTALLED & {*Path(file).parts}
        if file and (package in own or not others):
            digest.update(name.encode() + b"\0" + _content(module, file))
    return digest.hexdigest()


def _file_of(module: Any) -> str | None:
    """Return the file of a module, without loading one that is lazy, or None."""
    with suppress(AttributeError):
        file = object.__getattribute__(module, "__dict__").get("__file__")
        return file if isinstance(file, str) else None
    return None


def _content(module: Any, file: str) -> bytes:
    """Return the content of the file of a module, which may be in an archive; b"" if it cannot be read."""
    with suppress(OSError):
        return Path(file).read_bytes()
    with suppress(OSError, AttributeError):
        return bytes(module.__loader__.get_data(file))
    return b""
