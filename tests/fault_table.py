"""The faults: how to cause each one, what w2vtrain must do about it, and what the other systems must do to survive it.

tests/faults.py runs w2vtrain and its peers on these faults, and tests/test_faults.py tests w2vtrain on them.
"""

import gzip
import os
import pickle
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from fault_drive import (
    Case,
    Drive,
    Run,
    cut_in_half,
    cut_short,
    cut_while_learning,
    damaged,
    fed,
    flip_a_bit,
    full_then_free,
    limited,
    load,
    once,
    over_a_good_file,
    signaled,
    two_at_once,
    without_stderr,
    without_stdout,
)  # fmt: skip

from w2vtrain.embeddings.model import Model, save_model

ROOT = Path(__file__).parent.parent
LINE = 64 << 20
"""Length of the fault "one line of 64 MiB" in bytes."""

# Programs for faults that the usual programs of faults.py do not cover. Arguments: text, output, settings as JSON.
GENSIM_LINES = """
import json, logging, sys
from gensim.models import Word2Vec
from gensim.models.word2vec import LineSentence
logging.basicConfig(level=logging.INFO)
model = Word2Vec(sentences=LineSentence(sys.argv[1]), **json.loads(sys.argv[3]))
model.wv.save_word2vec_format(sys.argv[2])
"""
GENSIM_RAISES = """
import json, logging, sys
from gensim.models import Word2Vec
logging.basicConfig(level=logging.INFO)
class Sentences:
    passes = 0
    def __iter__(self):
        Sentences.passes += 1
        for number, line in enumerate(open(sys.argv[1], encoding="utf-8")):
            if Sentences.passes == 3 and number == 100:  # the first pass counts words
                raise ValueError("no more")
            yield line.split()
model = Word2Vec(sentences=Sentences(), **json.loads(sys.argv[3]))
model.wv.save_word2vec_format(sys.argv[2])
"""
GENSIM_BINARY = """
import json, sys
from gensim.models import Word2Vec
Word2Vec(corpus_file=sys.argv[1], **json.loads(sys.argv[3])).wv.save_word2vec_format(sys.argv[2], binary=True)
"""
GENSIM_LOADS_BINARY = """
import sys
from gensim.models import KeyedVectors
print(KeyedVectors.load_word2vec_format(sys.argv[2], binary=True).most_similar("the"))
"""
GENSIM_MODEL = """
import json, sys
from gensim.models import Word2Vec
Word2Vec(corpus_file=sys.argv[1], **json.loads(sys.argv[3])).save(sys.argv[2])
"""
GENSIM_LOADS_MODEL = """
import sys
from gensim.models import Word2Vec
print(Word2Vec.load(sys.argv[2]).wv.most_similar("the"))
"""
RAISES = """
from w2vtrain.objectives.softmax import DEFAULTS, OBJECTIVE as Softmax
class Broken(Softmax):
    steps = 0
    def step(self, *block):
        Broken.steps += 1
        if Broken.steps > 20:
            raise ValueError("no more")
        return super().step(*block)
OBJECTIVE = Broken
"""


class Executes:
    """An object that creates a file when it is unpickled."""

    def __reduce__(self):
        return os.mknod, ("executed",)


def some_text(folder: Path) -> None:
    """Write the first lines of the demo corpus."""
    with (ROOT / "data/simplewiki.txt").open("rb") as file:
        (folder / "corpus.txt").write_bytes(b"".join(file.readline() for _ in range(300)))


def some_text_and(name: str, content: str) -> Callable[[Path], object]:
    """Return a function that writes the demo text and another file."""
    return lambda folder: (some_text(folder), (folder / name).write_text(content))


def evil_code(name: str, content: str) -> Callable[[Path], object]:
    """Return a function that writes the demo text, settings and evil.py, an objective that creates a file when run."""
    code = "import os\nos.mknod('executed')\nfrom w2vtrain.objectives.softmax import *\n"
    return lambda folder: (some_text_and(name, content)(folder), (folder / "evil.py").write_text(code))


def lock_that_is_a_link(folder: Path) -> None:
    """Write the demo text and a run folder whose lock is a symbolic link to a file of the user."""
    some_text(folder)
    (folder / "good").write_text("precious")
    (folder / "out.txt.run").mkdir()
    (folder / "out.txt.run" / "lock").symlink_to(folder / "good")


def greedy_model(folder: Path) -> None:
    """Write a model of a few kilobytes whose options request a thousand tables of a million buckets."""
    options = {"tables": 1000, "hashes": 5, "window": 16, "rebuild": 1000, "limit": 10}
    words, ones = [f"word{i}" for i in range(50)], np.ones((50, 16), np.float32)
    settings = {"objective": "lsh", "vector_size": 16, "options": options}
    save_model(folder / "model", Model(words, np.arange(50, 0, -1), ones, ones, {}, settings))
    (folder / "corpus.txt").write_text("word1 word2 word3\n")


def bomb(folder: Path) -> None:
    """Write vectors that are compressed to 80 kB and take 80 MB of text."""
    rows = b"".join(b"word%d" % row + b" 0" * 40_000 + b"\n" for row in range(1000))
    (folder / "vectors.txt.gz").write_bytes(gzip.compress(b"1000 40000\n" + rows, mtime=0))


def file_of(data: bytes, name: str = "corpus.txt") -> Callable[[Path], object]:
    """Return a function that writes a file with these bytes."""
    return lambda folder: (folder / name).write_bytes(data)


def folder_called(name: str) -> Callable[[Path], object]:
    """Return a function that creates a folder with this name, such as that of the corpus."""
    return lambda folder: (folder / name).mkdir()


def nothing(_: Path) -> None:
    """Write no file."""


def long_line(folder: Path) -> None:
    """Write a line of LINE bytes: a thousand words, repeated, without a newline."""
    line = b" ".join(b"word%03d" % i for i in range(1000)) + b" "
    with (folder / "corpus.txt").open("wb") as file:
        for _ in range(LINE // len(line)):
            file.write(line)


# A condition that must hold for every system after a case has run. It returns a complaint, or "" if it holds.
Check = Callable[[Case, list[Run]], str]


def no_half_file(case: Case, runs: list[Run]) -> str:
    """Check that a failed run left no output file."""
    return "partial output file" if runs[-1].code != 0 and (case.folder / case.output).is_file() else ""


def good_file_is_whole(case: Case, _: list[Run]) -> str:
    """Check that the output of the first run is unchanged."""
    now, good = ((case.folder / name).read_bytes() for name in (case.output, "good"))
    return "" if now == good else f"the good file is destroyed, {len(now) / len(good):.0%} left"


def resumes(after: int) -> Check:
    """Check that a run stopped with exit code `after` resumes to the same bytes as an uninterrupted run."""

    def check(case: Case, runs: list[Run]) -> str:
        if len(runs) == 1:
            return "all work lost" if (runs[0].code or 0) < 0 else "not tested: the run ended too soon"
        if runs[0].code != after:
            return f"exit code {runs[0].code} when it was stopped"
        same = (case.folder / case.output).read_bytes() == (case.folder / "whole" / case.output).read_bytes()
        return "" if same else "resumes to different vectors"

    return check


def one_is_refused(_: Case, runs: list[Run]) -> str:
    """Check that of two runs with the same output, one is refused."""
    return "silent: the last to finish wins" if all(run.code == 0 for run in runs) else ""


def runs_no_code(case: Case, _: list[Run]) -> str:
    """Check that no code from a file has run."""
    return "runs the file's code" if (case.folder / "executed").exists() else ""


def good_file_is_untouched(case: Case, _: list[Run]) -> str:
    """Check that the file behind a symbolic link is unchanged."""
    return "" if (case.folder / "good").read_text() == "precious" else "the file behind the link is destroyed"


def anything(_: Case, __: list[Run]) -> str:
    """Check nothing beyond the exit code and the message."""
    return ""


LINES = b"alpha beta gamma delta epsilon\n" * 200
FIVE = frozenset(LINES.split())
PACKED = gzip.compress(LINES * 50, mtime=0)
LONG_TOKENS = [b"x" * 1200 + end for end in (b"a", b"b")]
VECTORS = b"3 2\nalpha 1 0\nbeta 0 1\ngamma 1 1\n"
LONG = ("--epochs", "400", "--threads", "1", "--progress-every", "0.05")
SAVING = (*LONG, "--checkpoint-every", "0.005")
LONG_GENSIM, LONG_FASTTEXT = {"epochs": 100}, {"epoch": 50}
STATES = "out.txt.run/ckpt-*.safetensors"


@dataclass(frozen=True)
class Fault:
    """One fault, how to cause it, and the outcomes that count as surviving it.

    name: row name in the table. code, says: w2vtrain's exit code, and a regular expression for its error line, or for
    all of its stderr if the code is 0. ours: additional arguments of `fit`. gensim, fasttext: settings or a training
    program for that system; None if the fault does not apply to it. names: a regular expression for what a peer's
    message must name. loads: how to load the output, by system, if not in the usual way: arguments of w2vtrain, or a
    program. make: fills the folder. drive: runs the commands. check: condition for all systems. words: the words that
    the vocabulary must have, None for no check; may: further words that it may have. note: what the table shows after a
    code of 0. memory: limit of the peak memory in bytes. refused: peers must refuse the input; if False, they may, with
    a message that names the problem. early: the error must come before training. corpus, output: file names. states: a
    glob pattern of what w2vtrain saves during training. tested: another test that is as strong as this row, if any.
    """

    name: str
    code: int
    says: str
    ours: tuple[str, ...] = ()
    gensim: Mapping[str, object] | str | None = field(default_factory=dict)
    fasttext: Mapping[str, object] | str | None = field(default_factory=dict)
    names: str = r"corpus\.txt|vectors\.txt|out\.txt|out\.bin"
    loads: Mapping[str, tuple[str, ...] | str] = field(default_factory=dict)
    make: Callable[[Path], object] = some_text
    drive: Drive = once
    check: Check = no_half_file
    words: frozenset[bytes] | None = None
    may: frozenset[bytes] = frozenset()
    note: str = ""
    memory: int | None = None
    refused: bool = True
    early: bool = False
    corpus: str = "corpus.txt"
    output: str = ""
    states: str = ""
    tested: str = ""


def setting(flag: str, value: object, gensim: str, fasttext: str, says: str, **more: Any) -> Fault:
    """Return a fault: an invalid value of a setting, which the three systems know by these names."""
    about = {"gensim": {gensim: value}, "fasttext": {fasttext: value}, "names": rf"\b({gensim}|{fasttext})\b"}
    return Fault(
        f"`{flag} {value}`", says=says, ours=(flag, str(value)), **{"code": 78, "early": True, **about, **more}
    )


def trains(name: str, data: bytes, words: frozenset[bytes] = FIVE, says: str = "output ", **more: Any) -> Fault:
    """Return a fault: an unusual text that must be read, with this vocabulary."""
    return Fault(name, 0, says, **{"make": file_of(data), "words": words, "refused": False, "check": anything, **more})


def refuses(name: str, data: bytes, says: str, **more: Any) -> Fault:
    """Return a fault: a text that must be refused with exit code 65."""
    return Fault(name, 65, says, **{"make": file_of(data), **more})


def unloadable(name: str, data: bytes, says: str, **more: Any) -> Fault:
    """Return a fault: vectors that must be refused with exit code 65. fastText does not load this format."""
    about = {"make": file_of(data, "vectors.txt"), "output": "vectors.txt", "fasttext": None, "drive": load}
    return Fault(name, says=says, **{"code": 65, **about, "check": runs_no_code, **more})


def ours_alone(name: str, code: int, says: str, **more: Any) -> Fault:
    """Return a fault of a feature that only w2vtrain has."""
    return Fault(name, code, says, **{"gensim": None, "fasttext": None, **more})


SETTINGS = [
    setting("--vector-size", 0, "vector_size", "dim", "vector-size: .*, got '0'"),
    setting("--window", 0, "window", "ws", "window: .*, got '0'"),
    setting("--alpha", -1, "alpha", "lr", "alpha: .*, got '-1'"),
    setting(
        "--alpha", 1000, "alpha", "lr", "diverged in epoch 1 at learning rate", code=76, names="NaN|alpha", early=False
    ),
    setting("--threads", 0, "workers", "thread", "threads: .*, got '0'"),
    setting("--epochs", 0, "epochs", "epoch", "epochs: .*, got '0'"),
    setting("--epochs", "x", "epochs", "epoch", "epochs: .*, got 'x'"),
    setting("--negative", 0, "negative", "neg", "negative .*: 0 is not"),
    setting("--negative", -1, "negative", "neg", "negative .*: -1 is not"),
    setting("--sample", -1, "sample", "t", "sample: .*, got '-1'"),
    setting("--min-count", 0, "min_count", "minCount", "min-count: .*, got '0'"),
    Fault(
        "unknown setting `epocs`", 78, "settings.toml: unknown setting 'epocs' .did you mean 'epochs'",
        ("--config", "settings.toml"), {"epocs": 3}, {"epocs": 3}, names="epocs", early=True,
        make=some_text_and("settings.toml", "epocs = 3\n"),
    ),
    Fault(
        "100,000 dimensions with 1.5 GiB of address space", 71, r"need [\d,]+ MiB of memory(?=.* --vector-size)",
        ("--vector-size", "100000"), {"vector_size": 100_000}, {"dim": 100_000}, names="(?i)memory|bad_alloc|allocate",
        drive=limited(3 << 29), early=True, tested="commands/test_cli.py::test_too_little_memory_exits_with_71",
    ),
    ours_alone(
        "`--checkpoint-every nan`", 2, "'--checkpoint-every': expected a number .*, got 'nan'", early=True,
        ours=("--checkpoint-every", "nan"),
    ),
    ours_alone("`--seconds 1e308`", 78, "seconds: .*, got '1e308'", early=True, ours=("--seconds", "1e308")),
    ours_alone(
        "settings from /dev/zero", 78, "/dev/zero: .*", ours=("--config", "/dev/zero"), early=True,
    ),
    ours_alone(
        "text vectors named `vectors.npz`", 2, r"vectors\.npz: \.npz files are not written", ours=("--format", "text"),
        output="vectors.npz", early=True,
    ),
    ours_alone(
        "code named only in a settings file", 78, r"add --objective \./evil\.py", early=True,
        ours=("--config", "evil.toml"), make=evil_code("evil.toml", 'objective = "./evil.py"\n'), check=runs_no_code,
    ),
]  # fmt: skip

TEXTS = [
    refuses("empty file", b"", r"no tokens in corpus\.txt \(0 bytes\)", names=r"corpus\.txt|(?i:empty)"),
    refuses("only white space", b" \n\t \n" * 50, r"no tokens in corpus\.txt", names=r"corpus\.txt|(?i:empty)"),
    refuses("one distinct word", b"alpha " * 100, "only one word in corpus.txt, 100 times"),
    refuses(
        "all words below the minimum count", LINES, r"highest count is 200(?=.* --min-count 200 would keep 5)",
        ours=("--min-count", "1000"), gensim={"min_count": 1000}, fasttext={"minCount": 1000},
        names="(?i)min[_-]?count",
    ),
    refuses(
        "every word subsampled away", b"one two three\n" * 3, "nothing to learn from(?=.*--sample 0.*--min-count)",
        ours=("--sample", "1e-9"), gensim={"sample": 1e-9}, fasttext={"t": 1e-9}, names="sample|subsampl|no example",
    ),
    trains("invalid UTF-8", LINES + b"caf\xe9 gamma\n", FIVE | {"caf\ufffd".encode()}, "1 tokens of invalid UTF-8"),
    refuses("NUL byte", LINES + b"a\0b\n", r"NUL at byte 6201 of the text"),
    refuses("UTF-16", LINES.decode().encode("utf-16"), r"corpus\.txt: UTF-16 or UTF-32 at byte 0"),
    trains("byte order mark", b"\xef\xbb\xbf" + LINES),
    trains("CR LF line endings", LINES.replace(b"\n", b"\r\n")),
    trains("CR line endings", LINES.replace(b"\n", b"\r")),
    trains("no newline at the end", LINES + b"alpha last", FIVE | {b"last"}),
    trains("U+2028 in a word", LINES + "new\u2028york\n".encode(), FIVE | {"new\u2028york".encode()}),
    trains("`</s>` as a word", LINES + b"alpha </s> beta\n", FIVE | {b"</s>"}),
    trains(
        "words of 1,201 bytes", LINES + b" ".join(LONG_TOKENS) + b"\n", FIVE, "2 tokens over 1,000 bytes skipped",
        may=frozenset(LONG_TOKENS),
    ),
    trains(
        "one line of 64 MiB", b"", frozenset(b"word%03d" % i for i in range(1000)), "sentences split at --max-sentence",
        ours=("--epochs", "1"), gensim={"epochs": 1, "sample": 1e-6}, fasttext={"epoch": 1, "t": 1e-6}, make=long_line,
        memory=512 << 20,
    ),
    Fault("missing file", 66, r"corpus\.txt: No such file", make=nothing),
    Fault("empty folder", 66, "corpus.txt: no file", make=folder_called("corpus.txt"), names="corpus.txt|directory"),
    trains("named pipe", b"", make=nothing, drive=fed(LINES)),
    refuses(
        "truncated gzip", b"", r"corpus\.txt\.gz: the gzip data end early, at byte \d+", corpus="corpus.txt.gz",
        make=file_of(PACKED[:-20], "corpus.txt.gz"), gensim=GENSIM_LINES,
    ),
    refuses(
        "gzip with a wrong checksum", b"", r"corpus\.txt\.gz: damaged gzip data between", corpus="corpus.txt.gz",
        make=file_of(PACKED[:-8] + b"\0\0\0\0" + PACKED[-4:], "corpus.txt.gz"), gensim=GENSIM_LINES,
    ),
    trains("gzip named .txt", PACKED, gensim=GENSIM_LINES),
    trains("text named .gz", b"", make=file_of(LINES, "corpus.txt.gz"), corpus="corpus.txt.gz", gensim=GENSIM_LINES),
]  # fmt: skip

OUTPUTS = [
    Fault("output in a missing folder", 73, "there is no folder nowhere", output="nowhere/out.txt", early=True),
    Fault("output in a file", 73, "corpus.txt/out.txt", output="corpus.txt/out.txt", early=True),
    Fault(
        "output is a folder", 73, "out is a folder", ("--format", "text"), output="out", names=r"\bout\b", early=True,
        make=lambda folder: (some_text(folder), (folder / "out").mkdir()),
    ),
    Fault(
        "output to a full device", 74, "/dev/full cannot be written: No space left", ("--format", "text"),
        output="/dev/full", names="No space|/dev/full", tested="commands/test_cli.py::test_a_full_disk_exits_with_74",
    ),
    Fault(
        "disk full over a good file", 74, "out.txt cannot be written: File too large after", ("--force",),
        names="File too large|out", drive=over_a_good_file(200_000), check=good_file_is_whole,
    ),
    Fault("standard error closed", 0, "", drive=without_stderr, refused=False, note="no messages"),
    ours_alone(
        "vectors to standard output, which is closed", 74, "standard output cannot be written: Bad file descriptor",
        output="-", drive=without_stdout, check=anything,
    ),
    ours_alone("lock that is a symbolic link", 73, "it is a symbolic link", make=lock_that_is_a_link,
               check=good_file_is_untouched, early=True),
]  # fmt: skip

PROCESSES = [
    Fault(
        "SIGTERM during training, then the same command", 0, "resumed ", LONG, LONG_GENSIM, LONG_FASTTEXT,
        refused=False, drive=signaled(signal.SIGTERM), check=resumes(75), note="the same bytes, after exit code 75",
        tested="training/test_checkpointing.py::test_stopped_run_resumes_to_the_same_bytes",
    ),
    Fault(
        "SIGKILL during training, then the same command", 0, "resumed ", SAVING, LONG_GENSIM, LONG_FASTTEXT,
        refused=False, states=STATES, drive=signaled(signal.SIGKILL), check=resumes(-9), note="the same bytes",
        tested="training/test_checkpointing.py::test_run_killed_repeatedly_loses_nothing",
    ),
    Fault(
        "SIGHUP during training, then the same command", 0, "resumed ", LONG, LONG_GENSIM, LONG_FASTTEXT, refused=False,
        drive=signaled(signal.SIGHUP), check=resumes(75), note="the same bytes, after exit code 75",
        tested="training/test_run_record.py::test_sighup_saves_and_stops_like_sigterm",
    ),
    Fault(
        "SIGKILL before anything is saved, then the same command", 0, "output ", (*LONG, "--log-json", "run.log"),
        LONG_GENSIM, LONG_FASTTEXT, refused=False, states="run.log", drive=signaled(signal.SIGKILL),
        check=resumes(-9), note="the same bytes, one log",
        tested="training/test_kill_points.py::test_run_killed_before_any_disk_change_is_finished_by_the_same_command",
    ),
    ours_alone(
        "disk full while results are written, then the same command", 0, "output ", drive=full_then_free(200_000),
        ours=("--threads", "1"), refused=False, check=resumes(74), note="the same bytes, after exit code 74",
    ),
    Fault(
        "text truncated during training", 0, r"epoch 400 100\.0%", LONG, LONG_GENSIM, LONG_FASTTEXT,
        drive=cut_while_learning, note="trained on the whole text",
    ),
    Fault(
        "user code that raises during training", 70, "ValueError: no more", ("--objective", "./raises.py"),
        GENSIM_RAISES, None, names="ValueError", make=some_text_and("raises.py", RAISES),
    ),
    Fault(
        "two runs with one output", 73, "in use by process|exists", LONG, LONG_GENSIM, LONG_FASTTEXT, drive=two_at_once,
        check=one_is_refused, tested="training/test_checkpointing.py::test_second_run_with_the_same_output_is_refused",
    ),
]  # fmt: skip

FILES = [
    Fault(
        "vectors truncated to half", 65, r"out.bin:1: the header promises [\d,]+ vectors(?=.* it is cut off)",
        gensim=GENSIM_BINARY, output="out.bin",
        drive=damaged(cut_in_half), loads={"gensim": GENSIM_LOADS_BINARY}, check=anything,
    ),
    Fault(
        "vectors truncated to 200 bytes", 65, r"out.bin:1: the header promises [\d,]+ vectors(?=.* it is cut off)",
        gensim=GENSIM_BINARY, output="out.bin",
        drive=damaged(cut_short), loads={"gensim": GENSIM_LOADS_BINARY}, check=anything,
    ),
    Fault(
        "saved state with one bit flipped", 0, "damaged: its checksum .* resuming from the checkpoint before it",
        SAVING, GENSIM_MODEL, states=STATES, drive=damaged(flip_a_bit), note="resumed from the state before it",
        loads={"gensim": GENSIM_LOADS_MODEL, "w2vtrain": ("resume", "out.txt.run")}, check=anything,
    ),
    ours_alone(
        "model whose options need 4 TB, with 4 GiB of address space", 65, "model.*: .*lsh", make=greedy_model,
        drive=limited(4 << 30, "load"), loads={"w2vtrain": ("perplexity", "model", "corpus.txt")}, check=anything,
    ),
    unloadable(
        "header promises 2,000,000,000 vectors, with 4 GiB of address space", b"2000000000 1000\nalpha 1 0\n",
        "vectors.txt:1: the header promises 2,000,000,000 vectors", drive=limited(4 << 30, "load"),
    ),
    unloadable(
        "vectors of 80 MB, compressed to 80 kB", b"", "compressed bytes may expand to .* here", make=bomb,
        output="vectors.txt.gz", memory=256 << 20,
    ),
    unloadable(
        "named pipe in place of vectors", b"", "vectors.txt is a pipe or a device", code=66,
        make=lambda folder: os.mkfifo(folder / "vectors.txt"),
    ),
    unloadable(
        "header promises fewer vectors than there are", b"2" + VECTORS[1:],
        "vectors.txt:4: more rows than the 2 that the header promises",
    ),
    unloadable("duplicate word", VECTORS.replace(b"gamma", b"alpha"), r"vectors\.txt:4: .*'alpha'"),
    unloadable("NaN", VECTORS.replace(b"0 1", b"0 nan"), r"vectors\.txt:3: .*"),
    unloadable(
        "pickle that runs code", pickle.dumps(Executes()), "vectors.txt is a pickle", fasttext={},
        loads={"gensim": GENSIM_LOADS_MODEL},
    ),
]  # fmt: skip

FAULTS = {
    "Settings": SETTINGS, "Text": TEXTS, "Output": OUTPUTS, "Processes": PROCESSES, "Files that are loaded": FILES,
}  # fmt: skip
"""The faults by section of the table."""
