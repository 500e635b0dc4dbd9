"""Print figures on the package structure of one or more checkouts, as a Markdown table with one column per checkout.

The script reads the sources of `w2vtrain/` and the order of folders in tests/test_layers.py, and imports neither. It
sets no limits.

    python tests/house.py .            # this checkout
    python tests/house.py ../before .  # two checkouts side by side

A top-level module counts as a folder.
"""

import ast
import io
import math
import statistics
import sys
import tokenize
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

PACKAGE = "w2vtrain"
LONG_MODULE = 300
LONG_FUNCTION = 40
LAYOUT = {tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER, tokenize.COMMENT}
"""Tokens that do not count as code."""


@dataclass(frozen=True)
class Function:
    """A function, method or nested function: lines from `def` to the end, and parameters without self and cls."""

    name: str
    place: str
    lines: int
    parameters: int


@dataclass(frozen=True)
class Lines:
    """The lines of a module by kind; a line of code may end in a comment. Blank lines are not counted."""

    code: int
    docstrings: int
    comments: int


@dataclass(frozen=True)
class House:
    """The structure of one checkout.

    modules: number of lines by dotted name; arrows: (importing module, imported module) pairs; ranks: position of each
    folder in the order of tests/test_layers.py, from the bottom.
    """

    modules: dict[str, int]
    arrows: set[tuple[str, str]]
    ranks: dict[str, int]
    functions: list[Function]
    lines: Lines

    def folders(self) -> Counter[str]:
        """Return the number of modules in each folder."""
        return Counter(map(folder_of, self.modules))

    def folder_arrows(self) -> set[tuple[str, str]]:
        """Return (importing folder, imported folder) pairs, without imports inside a folder."""
        pairs = {(folder_of(importer), folder_of(imported)) for importer, imported in self.arrows}
        return {(importer, imported) for importer, imported in pairs if importer != imported}

    def upward(self) -> set[tuple[str, str]]:
        """Return the imports between folders that do not lead to a lower rank."""
        return {(a, b) for a, b in self.folder_arrows() if self.ranks.get(b, math.inf) >= self.ranks.get(a, -1)}


def folder_of(module: str) -> str:
    """Return the folder of a module, which may be a leaf, or the name of a top-level module."""
    return ".".join(module.split(".")[: 2 if module.startswith("leaves.") else 1])


def survey(checkout: Path) -> House:
    """Return the structure of a checkout. Raises FileNotFoundError if it has no package or no order of folders."""
    package = checkout / PACKAGE
    paths = sorted(package.rglob("*.py"))
    if not paths:
        raise FileNotFoundError(f"{package}: no module")
    texts = {name_of(path, package): path.read_text(encoding="utf-8") for path in paths}
    trees = {name: ast.parse(text) for name, text in texts.items()}
    kinds = [count_lines(texts[name], tree) for name, tree in trees.items()]
    return House(
        modules={name: len(text.splitlines()) for name, text in texts.items()},
        arrows={(name, other) for name, tree in trees.items() for other in imports(name, tree, set(texts))},
        ranks=read_ranks(checkout / "tests/test_layers.py"),
        functions=[function for name, tree in trees.items() for function in functions_of(name, tree)],
        lines=Lines(*(sum(getattr(kind, field) for kind in kinds) for field in ("code", "docstrings", "comments"))),
    )


def name_of(path: Path, package: Path) -> str:
    """Return the dotted name of a module within the package, including `__init__`."""
    return ".".join(path.relative_to(package).with_suffix("").parts)


def read_ranks(path: Path) -> dict[str, int]:
    """Return the rank of each folder: its position in ORDER, a list of names or of lists of names of equal rank."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "ORDER":
            order = ast.literal_eval(node.value)
            rows = [[row] if isinstance(row, str) else row for row in order]
            return {name: rank for rank, names in enumerate(rows) for name in names}
    raise FileNotFoundError(f"{path}: no ORDER")


def imports(module: str, tree: ast.Module, known: set[str]) -> set[str]:
    """Return the modules of the package that a module imports, at the top level or within a function.

    Names of the package itself that are not modules, such as `__version__`, are left out.
    """
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = absolute(module, node)
            names = [base, *(f"{base}.{alias.name}" for alias in node.names)]
            # An import of a module from a folder counts once, and not also as an import of the folder's __init__.
            names = [name for name in names[1:] if inside(name, known)] or names[:1]
        else:
            continue
        found |= {inside(name, known) for name in names}
    return found - {None, module}


def absolute(module: str, node: ast.ImportFrom) -> str:
    """Return the full name of the module that a `from` import names."""
    if not node.level:
        return node.module or ""
    parts = [PACKAGE, *module.split(".")][: -node.level]
    return ".".join([*parts, *filter(None, [node.module])])


def inside(name: str, known: set[str]) -> str | None:
    """Return the module of the package with this full name; None for other modules and for the package itself."""
    first, _, rest = name.partition(".")
    if first != PACKAGE or not rest:
        return None
    return next((found for found in (rest, f"{rest}.__init__") if found in known), None)


def functions_of(module: str, tree: ast.Module) -> list[Function]:
    """Return the functions of a module, including methods and nested functions."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            place = f"{module.replace('.', '/')}.py:{node.lineno}"
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            found.append(Function(node.name, place, lines, count_parameters(node.args)))
    return found


def count_parameters(arguments: ast.arguments) -> int:
    """Return the number of parameters: `self` and `cls` do not count, `*args` and `**kwargs` count as one each."""
    names = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
    own = len(names) - (names[:1] in (["self"], ["cls"]))
    return own + len(arguments.kwonlyargs) + sum(a is not None for a in (arguments.vararg, arguments.kwarg))


def count_lines(text: str, tree: ast.Module) -> Lines:
    """Count the lines of code, docstrings (any string used as a statement) and comments of a module."""
    docstrings = {
        line
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    code, comments = set(), set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        lines = range(token.start[0], token.end[0] + 1)
        if token.type == tokenize.COMMENT:
            comments.update(lines)
        elif token.type not in LAYOUT:
            code.update(lines)
    code -= docstrings
    return Lines(len(code), len(docstrings), len(comments - code - docstrings))


def figures(house: House) -> dict[str, str]:
    """Return the figures of a checkout, as text by the names that the table shows."""
    lengths = [function.lines for function in house.functions]
    parameters = sorted(function.parameters for function in house.functions)
    over = sum(length > LONG_FUNCTION for length in lengths)
    return {
        "modules": f"{len(house.modules)}",
        "folders, counting each top-level module as one": f"{len(house.folders())}",
        "modules in the largest folder": f"{max(house.folders().values())}",
        "imports between modules": f"{len(house.arrows)}",
        "imports between folders": f"{len(house.folder_arrows())}",
        "imports between folders that do not lead downward": f"{len(house.upward())}",
        f"modules of more than {LONG_MODULE} lines": f"{sum(n > LONG_MODULE for n in house.modules.values())}",
        "functions": f"{len(lengths):,}",
        "lines per function: median, maximum": f"{statistics.median(lengths):g}, {max(lengths)}",
        f"functions of more than {LONG_FUNCTION} lines": f"{over} ({over / len(lengths):.1%})",
        "parameters: median, 95th percentile, maximum": (
            f"{statistics.median(parameters):g}, {percentile(parameters, 95)}, {parameters[-1]}"
        ),
        "lines of code": f"{house.lines.code:,}",
        "lines of docstrings": f"{house.lines.docstrings:,}",
        "lines of comments": f"{house.lines.comments:,}",
    }


def percentile(ordered: list[int], share: float) -> int:
    """Return the smallest number that `share` percent of the ordered numbers do not exceed."""
    return ordered[math.ceil(len(ordered) * share / 100) - 1]


def table(names: list[str], houses: list[House]) -> str:
    """Return the figures as a Markdown table with one column per checkout."""
    columns = [figures(house) for house in houses]
    rows = [["", *names], ["---"] * (len(names) + 1)]
    rows += [[key, *(column[key] for column in columns)] for key in columns[0]]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def details(name: str, house: House) -> str:
    """Return the number of modules per folder, the upward imports and the ten longest functions."""
    folders = [f"{folder} {count}" for folder, count in sorted(house.folders().items()) if count > 1]
    longest = sorted(house.functions, key=lambda function: -function.lines)[:10]
    lines = [f"{name}: modules per folder: {', '.join(folders)}; {len(house.folders()) - len(folders)} with one module"]
    lines += [f"upward: {importer} -> {imported}" for importer, imported in sorted(house.upward())]
    lines += [f"{f.lines:4} lines, {f.parameters} parameters: {f.name} ({f.place})" for f in longest]
    return "\n".join(lines)


def main(paths: list[str]) -> None:
    """Print the table of the checkouts, then the details of each."""
    houses = [survey(Path(path)) for path in paths]
    print("\n\n".join([table(paths, houses), *map(details, paths, houses)]))


if __name__ == "__main__":
    main(sys.argv[1:] or ["."])
