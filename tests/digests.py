"""Write digests of what training computes and of what the command line says, or compare them with an earlier file.

    python tests/digests.py before.json                      # before a change
    python tests/digests.py after.json --against before.json # after it: print what differs

The digests are those of one processor and one set of packages. All training is on one thread: vectors of every
objective with every architecture, with subwords, with phrases and with held-out text; a run that is killed and resumed;
two ranks, if there is an mpiexec. Messages are those of every option of every command with a value that it refuses.
"""

import argparse
import contextlib
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import click

ROOT = Path(__file__).parents[1]
LINES, HELDOUT_LINES = 400, 40
"""Lines of the corpus in data/ to train on, and the lines after them to score."""


def digest(data: bytes) -> str:
    """Return a digest of bytes."""
    return hashlib.sha256(data).hexdigest()[:16]


def vectors(text: list[list[str]], heldout: list[list[str]]) -> Iterator[tuple[str, str]]:
    """Yield the name and the digest of every kind of training, in this process."""
    import w2vtrain
    from w2vtrain.architectures import architectures
    from w2vtrain.errors import W2VError
    from w2vtrain.objectives import objectives

    def trained(**settings: object) -> str:
        given = {"vector_size": 16, "epochs": 2, "threads": 1, "min_count": 2, "window": 3, **settings}
        try:
            model = w2vtrain.train(text, **given)  # type: ignore[arg-type]
        except W2VError as error:
            return f"{type(error).__name__}: {error}"
        parts = [model.input, model.output, *(model.arrays[name] for name in sorted(model.arrays))]
        return digest(b"".join(part.tobytes() for part in parts if part is not None))

    of_words = sorted(name for name, cls in architectures().items() if not cls.uses_tags())
    for objective, architecture in product(sorted(objectives()), of_words):
        yield f"{architecture} {objective}", trained(objective=objective, architecture=architecture)
    yield "subwords", trained(subwords=True, bucket=1000)
    for objective in ("softmax", "nce", "hs"):
        yield f"held-out {objective}", trained(objective=objective, heldout=heldout, architecture="vlbl", bias=True)


def shell(words: list[str], folder: Path, **options: object) -> subprocess.CompletedProcess[str]:
    """Run a w2vtrain command, or a command that ends with one."""
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload]


def runs(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield digests of runs of the command line: with phrases, killed and resumed, and of two ranks."""
    program = [sys.executable, "-m", "w2vtrain"]
    common = ["text.txt", "--threads", "1", "--vector-size", "16", "--epochs", "30", "--min-count", "2", "-q"]
    shell([*program, "phrases", "text.txt", "--save-table", "phrases.tsv", "-q"], folder)
    for name, more in (
        ("phrases", ["--phrases", "phrases.tsv"]),
        ("in text order", ["--no-shuffle"]),
        ("held-out", ["--heldout", "heldout.txt", "--objective", "hs", "--architecture", "vlbl"]),
    ):
        done = shell([*program, "fit", *common, *more, "-o", f"{digest(name.encode())}.txt"], folder)
        file = folder / f"{digest(name.encode())}.txt"
        yield f"fit, {name}", digest(file.read_bytes()) if file.exists() else done.stderr
    words = [*program, "fit", *common, "--epochs", "2000", "--checkpoint-every", "0.005", "-o", "killed.bin"]
    kills = 0
    for _ in range(20):
        process = subprocess.Popen(words, cwd=folder, stderr=subprocess.DEVNULL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(2)
            break
        process.kill()
        process.wait()
        kills += 1
    whole = shell([*program, "fit", *common, "--epochs", "2000", "-o", "whole.bin"], folder)
    assert whole.returncode == 0, whole.stderr
    same = (folder / "killed.bin").read_bytes() == (folder / "whole.bin").read_bytes()
    yield "killed and resumed", f"{'equal' if same else 'DIFFERENT'} {digest((folder / 'whole.bin').read_bytes())}"
    print(f"killed {kills} times", file=sys.stderr)
    mpiexec = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
    for ranks in (2, 3) if mpiexec else ():
        job = [mpiexec, "-n", str(ranks), *program, "fit", *common, "--distributed", "mpi", "--sync-words", "2000"]
        done = shell([*map(str, job), "-o", f"ranks{ranks}.bin"], folder)
        file = folder / f"ranks{ranks}.bin"
        yield f"{ranks} ranks", digest(file.read_bytes()) if file.exists() else done.stderr


def messages() -> Iterator[tuple[str, str]]:
    """Yield the exit code and the message of every command without arguments, and of every option with a bad value."""
    from w2vtrain.cli import cli
    from w2vtrain.commands.shell import explained, invoke

    def said(words: list[str]) -> str:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                code, message = invoke(cli, words), ""
            except BaseException as error:
                code, message = explained(error)
        return f"{code} {message}".replace(str(Path.cwd()), "FOLDER")

    def commands(group: click.Command, before: list[str]) -> Iterator[tuple[list[str], click.Command]]:
        if isinstance(group, click.Group):
            context = click.Context(group)
            for name in group.list_commands(context):
                found = group.get_command(context, name)
                assert found
                yield from commands(found, [*before, name])
        else:
            yield before, group

    for words, command in commands(cli, []):
        yield f"{' '.join(words)} --help", digest(command.get_help(click.Context(command)).encode())
        yield " ".join(words), said(words)
        yield f"{' '.join(words)} none", said([*words, "none.txt"])
        others = ["-o", "out.txt"] if any("--output" in option.opts for option in command.params) else []
        for option in command.params:
            if isinstance(option, click.Option):
                given = [*words, "none.txt", *others, option.opts[0], *([] if option.is_flag else ["?!"])]
                yield " ".join(given), said(given)


def tiny_fit(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the number of modules of the package that a tiny fit imports."""
    code = (
        "import sys; sys.argv = 'w2vtrain fit tiny.txt -o tiny.bin --force -q --min-count 1'.split()\n"
        "from w2vtrain.__main__ import main\n"
        "try: main()\n"
        "except SystemExit: print(sum(name.partition('.')[0] == 'w2vtrain' for name in sys.modules))"
    )
    (folder / "tiny.txt").write_text("a b c a b d\n" * 50)
    for _ in range(2):  # the second finds compiled kernels
        began = time.process_time(), os.times()
        done = shell([sys.executable, "-c", code], folder)
        cpu = sum(os.times()[2:4]) - sum(began[1][2:4])
    print(f"tiny fit: {cpu:.2f} CPU seconds", file=sys.stderr)
    yield "modules that a tiny fit imports", done.stdout.strip() or done.stderr


def main() -> None:
    """Measure, write, and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path)
    parser.add_argument("--against", type=Path)
    asked = parser.parse_args()
    lines = (ROOT / "data" / "simplewiki.txt").read_text(encoding="utf-8").splitlines()
    text, heldout = lines[:LINES], lines[LINES : LINES + HELDOUT_LINES]
    sys.path.insert(0, str(ROOT))
    os.environ["PYTHONPATH"] = str(ROOT)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "text.txt").write_text("\n".join(text) + "\n", encoding="utf-8")
        (folder / "heldout.txt").write_text("\n".join(heldout) + "\n", encoding="utf-8")
        split = [line.split() for line in text], [line.split() for line in heldout]
        found = dict(tiny_fit(folder)) | dict(vectors(*split)) | dict(runs(folder))
        with contextlib.chdir(folder):
            found |= dict(messages())
    asked.output.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    before = json.loads(asked.against.read_text(encoding="utf-8")) if asked.against else found
    for key in dict.fromkeys([*before, *found]):
        if before.get(key) != found.get(key):
            print(f"{key}\n  before: {before.get(key)}\n  now:    {found.get(key)}")
    print(f"{len(found)} digests, {sum(before.get(key) == found.get(key) for key in found)} equal")


if __name__ == "__main__":
    main()
