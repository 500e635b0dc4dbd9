"""The code blocks of README.md and docs/, and a folder that looks like a checkout to run them in."""

import os
import stat
import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

from markdown_it import MarkdownIt
from reference import DEMO, first_lines

ROOT = Path(__file__).parent.parent
PAGES = ("README.md", *sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("[!_]*.md")))
LONG = "# takes "
"""The first words of a block whose commands run for minutes or hours: `# takes 40 minutes`."""
# Stand-ins for a reader who presses Ctrl-C, and for SLURM and podman, which may not be installed.
STANDINS = {
    # It stops the run once training has begun, however slow the machine is; code 75 means that the run was saved.
    "stopped": """\
"$@" &
until compgen -G '*.run/config.json' > /dev/null || ! kill -0 $!; do sleep 0.1; done
until compgen -G '*.run/ckpt-*' > /dev/null || ! kill -0 $!; do
    kill -USR1 $!  # saves a checkpoint as soon as training has begun
    sleep 0.3
done
kill -TERM $!
wait $!
""",
    "sbatch": """\
tasks=
while [[ $1 == --* ]]; do
    [[ $1 == --array=* ]] && tasks=$(seq $(tr - ' ' <<< "${1#--array=}"))
    shift
done
[[ $tasks ]] || exec bash "$@"
for task in $tasks; do SLURM_ARRAY_JOB_ID=1 SLURM_ARRAY_TASK_ID=$task bash "$@" || exit; done
""",
    "podman": """\
verb=$1
shift
if [[ $verb == build ]]; then
    while [[ $# -gt 0 && $1 != -f ]]; do shift; done
    for source in $(awk '$1 == "COPY" { for (i = 2; i < NF; i++) print $i }' "$2"); do
        [[ -e $source ]] || { echo "$2 copies $source, which does not exist" >&2; exit 1; }
    done
    exit
fi
while [[ $# -gt 0 && $1 != w2vtrain ]]; do shift; done
exec "$@"
""",
}
# A program with the options and the output of word2vec.c, which counts the end of each line as a word.
WORD2VEC = """\
import sys, time
options = dict(zip(sys.argv[1::2], sys.argv[2::2]))
with open(options["-train"]) as file:
    text = file.read()
print(f"Vocab size: 3\\nWords in train file: {len(text.split()) + text.count(chr(10))}")
for percent in range(10, 101, 10):
    begun = time.process_time()
    while time.process_time() < begun + 0.02:
        pass
    print(f"\\rAlpha: 0.02  Progress: {percent}.00%  Words/sec: 1k", end="", flush=True)
with open(options["-output"], "w") as file:
    words = sorted(set(text.split()))
    print(len(words), options["-size"], file=file)
    for number, word in enumerate(words):
        print(word, *[(31 * number + 17 * column) % 101 - 50 for column in range(int(options["-size"]))], file=file)
"""


class Block(NamedTuple):
    """A code block: its language, "" for an indented one, and its text."""

    language: str
    text: str


@cache
def blocks(page: str) -> list[Block]:
    """Return the code blocks of a page, in order."""
    tokens = MarkdownIt("commonmark").disable("inline").parse((ROOT / page).read_text(encoding="utf-8"))
    return [Block(token.info, token.content) for token in tokens if token.type in ("fence", "code_block")]


def commands(block: Block) -> list[str]:
    """Return the command lines of a block, continued lines joined and comments left out.

    A line whose comment says that the reader stops it begins with `stopped`.
    """
    lines = block.text.replace("\\\n", " ").splitlines()
    parts = [line.partition("    # ") for line in lines if line.strip() and not line.startswith("#")]
    return [f"stopped {line}" if comment.startswith("press Ctrl-C") else line for line, _, comment in parts]


def checkout(folder: Path, lines: int | None = 4000) -> dict[str, str]:
    """Fill a folder with links to what a checkout has, and return an environment for commands that run there.

    lines: how many lines of the demo corpus the folder has, so that commands train for a moment; None: all of them.
    """
    (folder / "data").mkdir()
    for path in (ROOT / "data").iterdir():
        if path != DEMO or lines is None:
            (folder / "data" / path.name).symlink_to(path)
    if lines is not None:
        first_lines(lines, folder / "data" / DEMO.name)
    for name in ("benchmarks", "configs", "examples", "cli.py", "w2vtrain", "pyproject.toml", "README.md", "LICENSE"):
        (folder / name).symlink_to(ROOT / name)
    programs = folder / "bin"
    programs.mkdir()
    for name, script in STANDINS.items():
        (programs / name).write_text(f"#!/bin/bash\n{script}")
        (programs / name).chmod(stat.S_IRWXU)
    path = os.pathsep.join([str(programs), str(Path(sys.executable).parent), os.environ["PATH"]])
    return {**os.environ, "PATH": path}


def fake_word2vec(path: Path, code: int = 0) -> Path:
    """Write WORD2VEC as an executable that ends with an exit code, and return its path."""
    path.with_suffix(".py").write_text(WORD2VEC + f"sys.exit({code})\n", encoding="utf-8")
    path.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{path.with_suffix(".py")}" "$@"\n', encoding="utf-8")
    path.chmod(stat.S_IRWXU)
    return path
