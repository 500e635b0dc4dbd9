"""Keep Numba from reading .numba_config.yaml in the working folder, which may come from others.

In that file, settings such as CHROME_TRACE and CPU_NAME overwrite any file of the user, or end the process. Numba looks
for it when it is imported and at each compilation; it has no setting that stops it. Environment variables still count.
"""

import sys

TYPE_CHECKING = False  # importing typing would delay the point from which a signal prints one line
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from typing import Any

CONFIG = "numba.core.config"
FILE = ".numba_config.yaml"


class WithoutFile:
    """A finder of Numba's module of settings, in whose code the name of the file is empty, so that no file is found."""

    @staticmethod
    def find_spec(name: str, path: "Sequence[str] | None" = None, target: object = None) -> "ModuleSpec | None":
        """Return None for any other module."""
        if name != CONFIG:
            return None
        from importlib.machinery import PathFinder

        spec = PathFinder.find_spec(name, path)
        loader: Any = spec and spec.loader
        code = loader.get_code(name)
        loader.get_code = lambda _: code.replace(co_consts=tuple("" if c == FILE else c for c in code.co_consts))
        return spec


def ignore_file() -> None:
    """Keep this process from reading the file from now on, also if Numba has been imported already."""
    if CONFIG in sys.modules:
        sys.modules[CONFIG]._config_fname = ""  # type: ignore[attr-defined]
    else:
        sys.meta_path.insert(0, WithoutFile)
