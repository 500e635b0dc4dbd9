"""Decide which user code may run: objectives and architectures in files or modules that the command line names.

Settings, models and run folders may come from anyone, so code that they name runs only if the command line also names
it.
"""

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from w2vtrain import architectures, objectives
from w2vtrain.registry import member_name, placed


@dataclass(frozen=True)
class Named:
    """The objective and the architecture named on the command line, if any."""

    objective: str | None = None
    architecture: str | None = None

    def allow(self) -> None:
        """Permit their code to run. File names are relative to the working directory."""
        objectives.allow_code(self.objective)
        architectures.allow_code(self.architecture)

    def in_place_of(self, settings: Mapping[str, Any], folder: str | Path | None = None) -> dict[str, Any]:
        """Return stored settings, with a code file replaced by the one named here if both have the same file name.

        A model records the path that the file had when it was trained, which may have changed since. folder: to which
        relative names in the settings of a run refer; a file that is still there is not replaced.
        """
        replaced = dict(settings)
        for kind, name in asdict(self).items():
            stored = str(settings.get(kind))
            if folder is not None and os.path.exists(placed(stored, folder)):  # noqa: PTH110 - for any text
                continue
            if name and member_name(name) == member_name(stored):
                replaced[kind] = name if folder is None else placed(name)
        return replaced


def require(objective: str, architecture: str, folder: str | Path = ".") -> None:
    """Raise CodeNotAllowed if either is user code that was not named; files are relative to `folder`."""
    objectives.require_allowed(objective, folder)
    architectures.require_allowed(architecture, folder)
