"""Writing of figures that matplotlib has drawn: completely or not at all, with errors that name the file."""

from pathlib import Path
from typing import Any

from w2vtrain.system.files import atomic_write


def save_figure(figure: Any, path: Path, dpi: int) -> None:
    """Write a figure in the format of the file's suffix, PNG without one.

    Raise OutputError if the file cannot be created, and WriteError if it cannot be written.
    """
    with atomic_write(path, force=True) as file:
        figure.savefig(file, dpi=dpi, format=path.suffix[1:] or "png")
