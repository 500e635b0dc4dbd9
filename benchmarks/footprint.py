"""Print the size of each package that an installation of w2vtrain consists of: run it with that installation's Python.

The arguments name other packages, such as those of the extras, to list after it. The sizes are those of the files that
pip recorded, with the bytecode it compiled, in MB of 10^6 bytes. A package that another one needs is listed below the
first that needs it.
"""

import re
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path


def size(package: Distribution) -> int:
    """Return the bytes of a distribution's files."""
    paths = [Path(str(package.locate_file(file))) for file in package.files or []]
    return sum(path.stat().st_size for path in paths if path.is_file())


def needs(package: Distribution) -> Iterator[Distribution]:
    """Yield the installed distributions that one requires, without those of its extras."""
    for line in package.requires or []:
        if "extra ==" not in line:
            try:
                yield distribution(re.split(r"[^\w.-]", line)[0])
            except PackageNotFoundError:  # for another platform or another version of Python
                continue


def main() -> None:
    """Print the table and the total."""
    listed: set[str] = set()

    def report(package: Distribution, depth: int) -> int:
        name = package.metadata["Name"]
        if name.lower() in listed:
            return 0
        listed.add(name.lower())
        own = size(package)
        print(f"{'  ' * depth + name:24} {package.version:14} {own / 1e6:7.1f}")
        return own + sum(report(needed, depth + 1) for needed in needs(package))

    total = sum(report(distribution(name), 0) for name in ["w2vtrain", *sys.argv[1:]])
    print(f"{'total':24} {'':14} {total / 1e6:7.1f}")


if __name__ == "__main__":
    main()
