"""Test how w2vtrain, gensim and fastText handle bad settings, bad text, full disks, signals and damaged files.

    python tests/faults.py [--only NAME] [--json FILE] [--fasttext-python PYTHON]

Every fault of fault_table.py is run on every installed system, each in its own process and folder. The same rule judges
all outcomes, which are printed as a Markdown table. The other systems are run as their users would run them.
"""

import argparse
import json
import re
import signal
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from fault_drive import Case, Run
from fault_table import FAULTS, Fault

SMALL = ["--vector-size", "16", "--epochs", "2", "--threads", "2", "--min-count", "1"]
GENSIM_TRAINS = """
import json, logging, sys
from gensim.models import Word2Vec
logging.basicConfig(level=logging.INFO)
model = Word2Vec(corpus_file=sys.argv[1], **json.loads(sys.argv[3]))
model.wv.save_word2vec_format(sys.argv[2])
"""
GENSIM_LOADS = """
import sys
from gensim.models import KeyedVectors
print(KeyedVectors.load_word2vec_format(sys.argv[2]).most_similar("alpha"))
"""
FASTTEXT_TRAINS = """
import json, sys
import fasttext
model = fasttext.train_unsupervised(sys.argv[1], **json.loads(sys.argv[3]))
model.save_model(sys.argv[2])
"""
FASTTEXT_WORDS = """
with open("words.txt", "w", encoding="utf-8", newline="") as file:
    file.write("".join(word + "\\n" for word in model.words))
"""
FASTTEXT_LOADS = """
import sys
import fasttext
print(fasttext.load_model(sys.argv[2]).get_word_vector("the"))
"""


@dataclass(frozen=True)
class System:
    """One of the compared systems.

    python: the interpreter that has it; output: the file that it writes; learning: a regular expression for stderr
    that matches during training; settings: small settings for all faults; programs: Python code that trains, and that
    loads the output.
    """

    name: str
    python: str
    version: str
    output: str
    learning: str
    settings: dict[str, object]
    programs: tuple[str, str] = ("", "")

    def case(self, fault: Fault, folder: Path) -> Case:
        """Return the commands of this system for a fault."""
        train, loading = self._ours(fault) if self.name == "w2vtrain" else self._program(fault)
        states = fault.states if self.name == "w2vtrain" else ""
        return Case(folder, train, loading, fault.output or self.output, self.learning, states)

    def _ours(self, fault: Fault) -> tuple[list[str], list[str]]:
        output, start = fault.output or self.output, [self.python, "-m", "w2vtrain"]
        loading = fault.loads.get(self.name, ("neighbors", output, "the"))
        return [*start, "fit", fault.corpus, "-o", output, *SMALL, *fault.ours], [*start, *loading]

    def _program(self, fault: Fault) -> tuple[list[str], list[str]]:
        asked: Any = getattr(fault, self.name.lower())
        train, loading = self.programs
        if isinstance(asked, str):
            train, asked = asked, {}
        if self.name == "fastText" and fault.words:
            train += FASTTEXT_WORDS
        settings = json.dumps({**self.settings, **asked})
        arguments = [fault.corpus, fault.output or self.output, settings]
        loading = str(fault.loads.get(self.name, loading))
        return [self.python, "-c", train, *arguments], [self.python, "-c", loading, *arguments]

    def takes(self, fault: Fault) -> bool:
        """Return whether the fault applies to this system."""
        return self.name == "w2vtrain" or getattr(fault, self.name.lower()) is not None


OURS = System("w2vtrain", sys.executable, "", "out.txt", r"^epoch [3-9]", {})
GENSIM = System(
    "gensim", sys.executable, "", "out.txt", "EPOCH 1: training on",
    {"vector_size": 16, "epochs": 2, "workers": 2, "min_count": 1}, (GENSIM_TRAINS, GENSIM_LOADS),
)  # fmt: skip
FASTTEXT = System(
    "fastText", sys.executable, "", "out.bin", r"Progress: +[1-9]\d{1,2}\.",
    {"dim": 16, "epoch": 2, "thread": 2, "minCount": 1, "minn": 0, "maxn": 0}, (FASTTEXT_TRAINS, FASTTEXT_LOADS),
)  # fmt: skip


@dataclass(frozen=True)
class Verdict:
    """The verdict on a system: a flag that is true if it survived a fault, and a short text on what happened."""

    survived: bool
    text: str


def judge(system: System, fault: Fault, case: Case, runs: list[Run]) -> Verdict:
    """Return the verdict on a system, by the same rule for all systems.

    w2vtrain must also give the promised exit code and message. runs: how the processes ended; the last one counts.
    """
    last = runs[-1]
    if last.code is None:
        return Verdict(False, f"hangs, memory grows to {last.peak >> 30} GiB" if last.peak > 2 << 30 else "hangs")
    complaint = fault.check(case, runs)
    if last.code < 0 and not complaint:
        complaint = f"crash ({signal.Signals(-last.code).name})"
    if not complaint and last.code == 0 and fault.words:
        complaint = wrong_words(system, fault, case.folder)
    if not complaint and fault.memory and last.peak > fault.memory:
        complaint = f"peak memory {last.peak >> 20:,} MiB"
    if complaint:
        return Verdict(False, complaint)
    return ours(fault, last) if system.name == "w2vtrain" else peers(fault, case, last)


def ours(fault: Fault, run: Run) -> Verdict:
    """Return whether w2vtrain gave the exit code and the one error line that the fault requires."""
    errors = [line for line in run.said.splitlines() if "error" in line.lower() or "Traceback" in line]
    if run.code != fault.code or len(errors) != (run.code != 0):
        return Verdict(False, f"exit code {run.code}: {' / '.join(errors)[:200]}")
    if errors and not run.said.splitlines()[-1].startswith("w2vtrain: error: "):
        return Verdict(False, f"the last line is not an error: {run.said.splitlines()[-1]}")
    found = re.search(fault.says, errors[0] if errors else run.said)
    if not found:
        return Verdict(False, f"exit code {run.code}, but says: {' / '.join(errors) or run.said}")
    if fault.early and re.search(r"^epoch |^training ", run.said, re.M):
        return Verdict(False, "only after training")
    more = f', "{short(found[0])}"' if errors else f", {fault.note}" if fault.note else trained(fault, run)
    return Verdict(True, f"ok: {fault.code}{more}")


def trained(fault: Fault, run: Run) -> str:
    """Return what the table shows about a successful run, after the exit code."""
    return f", peak memory {run.peak >> 20:,} MiB" if fault.memory else ""


def peers(fault: Fault, case: Case, run: Run) -> Verdict:
    """Return the verdict on another system: a library may raise an exception, but its message must name the problem."""
    if run.code == 0:
        if not fault.refused:
            return Verdict(True, "ok" + trained(fault, run))
        warned = re.search(r"^(WARNING|ERROR):.*", run.said, re.M)
        return Verdict(False, "only a warning" if warned else "silent")
    raised = next((line for line in reversed(run.said.splitlines()) if re.match(r"[\w.]+(:|$)", line)), "")
    kind = raised.split(":")[0].split(".")[-1]
    named = re.search(fault.names, raised)
    if not named:
        return Verdict(False, f"traceback: {short(raised)}")
    if fault.early and case.has_learned(run.said):
        return Verdict(False, f"only after training: {kind}")
    return Verdict(True, f"ok: {kind} names {named[0]}")


def short(text: str, length: int = 70) -> str:
    """Return a message, shortened to `length` characters."""
    return text if len(text) <= length else f"{text[: length - 4].rstrip()} ..."


def wrong_words(system: System, fault: Fault, folder: Path) -> str:
    """Return a complaint if the vocabulary that was written is wrong, else ""."""
    assert fault.words is not None
    if system.name == "fastText":  # its words always include the sentence end
        found = set((folder / "words.txt").read_bytes().split(b"\n")) - {b"", b"</s>"} | fault.words & {b"</s>"}
    else:
        lines = (folder / (fault.output or system.output)).read_bytes().split(b"\n")[1:-1]
        found = {line.split(b" ")[0] for line in lines}
    for words, what in ((found - fault.words - fault.may, "has"), (fault.words - found, "lacks")):
        if words:
            word = min(words, key=lambda word: (len(word), word))
            return f"vocabulary {what} {ascii(word.decode(errors='surrogateescape'))[:40]}"
    return ""


def installed(system: System, python: str, *names: str) -> System | None:
    """Return the system with the version installed in this Python, or None if it is not installed there."""
    code = (
        "import sys; from importlib.metadata import distributions as d;"
        "print(*{m.version for m in d() if m.name.lower() in sys.argv[1:]})"
    )
    done = subprocess.run([python, "-c", code, *names], capture_output=True, text=True, check=False)
    version = done.stdout.strip()
    return replace(system, python=python, version=version) if version else None


def main() -> None:
    """Run the faults and print the table; exit with code 1 unless w2vtrain survives all of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="NAME", help="run only faults whose name contains NAME")
    parser.add_argument("--json", metavar="FILE", help="also write all outcomes to FILE")
    parser.add_argument(
        "--fasttext-python", default=sys.executable, metavar="PYTHON", help="Python interpreter with fastText installed"
    )
    options = parser.parse_args()
    candidates = (
        installed(OURS, sys.executable, "w2vtrain"),
        installed(GENSIM, sys.executable, "gensim"),
        installed(FASTTEXT, options.fasttext_python, "fasttext", "fasttext-wheel"),
    )
    systems = [system for system in candidates if system]
    outcomes = []
    score = dict.fromkeys((system.name for system in systems), (0, 0))
    print_row("fault", *(f"{system.name} {system.version}" for system in systems))
    print_row(*["---"] * (len(systems) + 1))
    for part, faults in FAULTS.items():
        chosen = [fault for fault in faults if options.only in fault.name]
        if chosen:
            print_row(f"**{part}**", *[""] * len(systems))
        for fault in chosen:
            cells = []
            for system in systems:
                if not system.takes(fault):
                    cells.append("-")
                    continue
                verdict, runs = run(system, fault)
                good, all_ = score[system.name]
                score[system.name] = good + verdict.survived, all_ + 1
                cells.append(verdict.text)
                about = {"fault": fault.name, "system": system.name, "version": system.version, **asdict(verdict)}
                outcomes.append({**about, "runs": [asdict(each) for each in runs]})
            print_row(fault.name, *cells)
    print_row("**survived**", *(f"{good} of {all_}" for good, all_ in score.values()))
    if options.json:
        Path(options.json).write_text(json.dumps(outcomes, indent=1) + "\n", encoding="utf-8")
    good, all_ = score["w2vtrain"]
    sys.exit(good < all_)


def run(system: System, fault: Fault) -> tuple[Verdict, list[Run]]:
    """Run a system on a fault in a new folder; return the verdict and how the processes ended."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fault.make(folder)
        case = system.case(fault, folder)
        runs = fault.drive(case)
        return judge(system, fault, case, runs), runs


def print_row(*cells: str) -> None:
    """Print a row of a Markdown table."""
    print("|", " | ".join(cell.replace("|", "\\|") for cell in cells), "|", flush=True)


if __name__ == "__main__":
    main()
