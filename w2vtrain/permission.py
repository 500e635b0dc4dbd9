"""Which code of users may run: objectives and architectures that are files or modules, named on this command line.

Settings, models and run folders may come from anywhere, so what they name runs only if the command line names it, too.
"""

from dataclasses import dataclass
from pathlib import Path

from w2vtrain import architectures, objectives


@dataclass(frozen=True)
class Named:
    """The objective and the architecture that a command line names, if any."""

    objective: str | None = None
    architecture: str | None = None

    def allow(self) -> None:
        """Let their code run. Names of files are relative to the working folder."""
        objectives.allow_code(self.objective)
        architectures.allow_code(self.architecture)


def require(objective: str, architecture: str, folder: str | Path = ".") -> None:
    """Raise CodeNotAllowed if one of them is code that was not named; files are relative to `folder`."""
    objectives.require_allowed(objective, folder)
    architectures.require_allowed(architecture, folder)
