"""List the evaluation sets that come with the package, and find their files.

In a checkout, the files are in data/eval/; a wheel has a copy of this folder, so that an installed package has them,
too. data/eval/README.md names their sources, licenses and papers. datasets.py reads them.
"""

import os
from pathlib import Path
from typing import Literal, NamedTuple

Kind = Literal["analogies", "similarity", "outliers", "categories"]
PACKAGE = Path(__file__).parent.parent
FOLDERS = (PACKAGE / "data" / "eval", PACKAGE.parent / "data" / "eval")
"""Where the files are: in an installed package, and in a checkout or an editable installation."""


class EvaluationSet(NamedTuple):
    """An evaluation set: its name, the evaluation that it is for, and its file."""

    name: str
    kind: Kind
    path: Path


FILES: dict[str, tuple[Kind, str]] = {
    "questions-words": ("analogies", "questions-words.txt"),
    "wordsim353": ("similarity", "wordsim353.tsv"),
    "simlex999": ("similarity", "simlex999.tsv"),
}
"""The kind and the file of each set, by name, in the order in which tables list them."""


def bundled_sets() -> list[EvaluationSet]:
    """Return all sets that come with the package."""
    folder = next(filter(Path.is_dir, FOLDERS), FOLDERS[0])
    return [EvaluationSet(name, kind, folder / file) for name, (kind, file) in FILES.items()]


def located(name: str) -> str:
    """Return the path of the set with this name or file name; other names, and those of files here, are paths."""
    if os.path.exists(name):  # noqa: PTH110 - unlike Path.exists, it accepts names that are too long
        return name
    return next((str(one.path) for one in bundled_sets() if name in (one.name, one.path.name)), name)
