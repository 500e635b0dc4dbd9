"""Which code of users may run: objectives and architectures that are files or modules, named on this command line.

Settings, models and run folders may come from anywhere, so what they name runs only if the command line names it, too.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from w2vtrain import architectures, objectives
from w2vtrain.registry import is_code


@dataclass(frozen=True)
class Named:
    """The objective and the architecture that a command line names, if any."""

    objective: str | None = None
    architecture: str | None = None

    def allow(self) -> None:
        """Let their code run. Names of files are relative to the working folder."""
        objectives.allow_code(self.objective)
        architectures.allow_code(self.architecture)

    def in_place_of(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return a model's settings with the code that is named here in place of files of the same names.

        A model knows its code by the name it had when and where it was trained.
        """
        found = dict(settings)
        for kind, name in asdict(self).items():
            if name and is_code(str(found.get(kind))) and Path(str(found[kind])).name == Path(name).name:
                found[kind] = name
        return found


def require(objective: str, architecture: str, folder: str | Path = ".") -> None:
    """Raise CodeNotAllowed if one of them is code that was not named; files are relative to `folder`."""
    objectives.require_allowed(objective, folder)
    architectures.require_allowed(architecture, folder)


def placed(name: str, folder: str | Path) -> str:
    """Return a name that means the same in any folder: that of a file, relative to `folder`, becomes absolute."""
    return str(Path(folder, name).resolve()) if name.endswith(".py") else name
