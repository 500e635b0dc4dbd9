"""Measure what docs/objectives.md shows: run its commands, and keep the results in docs/measured.

Run it as `make objectives PTB=FOLDER ENWIKI=FILE`. It takes hours and may be interrupted: the same command resumes.
"""

import itertools
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "docs"))

import yardstick

from w2vtrain.system.machine import cores_of_process

ROOT = Path(__file__).parent.parent
MEASURED = ROOT / "docs/measured"
COMMAND = re.compile(r"^```sh\n# takes [^\n]*\n(.*?)^```$", re.DOTALL | re.MULTILINE)
HELD_OUT, CURVE = 300_000, 30_000
"""Bytes at the end of the text of ENWIKI that are held out for testing, and bytes before them for the curves."""
KEPT = (
    "words_per_second", "words_per_cpu_second", "output_parameters", "peak_memory_bytes", "vocabulary", "corpus_words",
    "width", "test", "scoring", "scores", "failed",
)  # fmt: skip
"""The parts of a result that the page needs."""


def prepare(folder: Path, ptb: Path, enwiki: Path) -> None:
    """Put the texts into the folder in which the page's commands run, under the names that they use."""
    folder.mkdir(parents=True, exist_ok=True)
    links = {f"ptb.{part}.txt": ptb / f"ptb.{part}.txt" for part in ("train", "valid", "test")}
    links |= {"configs": ROOT / "configs", "data": ROOT / "data"}
    for name, target in links.items():
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(target.resolve(strict=True))
    if not (folder / "enwiki.end.txt").exists():
        whole = enwiki.read_bytes()
        test = whole.rindex(b"\n", 0, len(whole) - HELD_OUT) + 1
        curve = whole.rindex(b"\n", 0, test - CURVE) + 1
        parts = {"enwiki": whole[:curve], "enwiki.curve": whole[curve:test], "enwiki.end": whole[test:]}
        for name, part in parts.items():
            (folder / "part").write_bytes(part)
            (folder / "part").rename(folder / f"{name}.txt")  # a file with this name is complete
    if not (folder / "phrases.txt").exists():
        found = phrases((folder / "enwiki.txt").read_text(encoding="utf-8"))
        for name in ("phrases.curve", "phrases"):
            lines = (folder / f"{name.replace('phrases', 'enwiki')}.txt").read_text(encoding="utf-8").splitlines()
            text = "".join(joined(line.split(), found) + "\n" for line in lines)
            (folder / "part").write_text(text, encoding="utf-8")
            (folder / "part").rename(folder / f"{name}.txt")


def phrases(text: str) -> set[tuple[str, str]]:
    """Return the pairs of adjacent words that occur more often than by chance, by the score of word2phrase.

    A pair is kept if (its count - 1) * words of the text / (the counts of both words) is above 10.
    """
    counts: Counter[str] = Counter()
    pairs: Counter[tuple[str, str]] = Counter()
    for line in text.splitlines():
        words = line.split()
        counts.update(words)
        pairs.update(itertools.pairwise(words))
    total = counts.total()
    return {pair for pair, n in pairs.items() if (n - 1) * total > 10 * counts[pair[0]] * counts[pair[1]]}


def joined(words: list[str], pairs: set[tuple[str, str]]) -> str:
    """Return a line in which pairs of words are joined by an underscore, from left to right."""
    words_joined, i = [], 0
    while i < len(words):
        size = 2 if tuple(words[i : i + 2]) in pairs else 1
        words_joined.append("_".join(words[i : i + size]))
        i += size
    return " ".join(words_joined)


def commands() -> list[str]:
    """Return the page's code blocks that measure, in their order."""
    return COMMAND.findall((ROOT / "docs/_objectives.md").read_text(encoding="utf-8"))


def keep(folder: Path) -> None:
    """Copy the results of each comparison in `folder` to docs/measured, without what the page does not need."""
    MEASURED.mkdir(exist_ok=True)
    for path in sorted(folder.glob("*/compare.json")):
        results = json.loads(path.read_text(encoding="utf-8"))
        text = "".join(json.dumps(yardstick.five_digits(condensed(r))) + "\n" for r in results)
        (MEASURED / f"{path.parent.name}.jsonl").write_text(text, encoding="utf-8")
        if path.parent.name == "ptb":
            yardstick.picture([condensed(r) for r in results], MEASURED / "ptb.png")
        else:
            shutil.copyfile(path.parent / "curves.png", MEASURED / f"{path.parent.name}.png")


def condensed(result: dict[str, Any]) -> dict[str, Any]:
    """Return the parts of a result that the page needs."""
    settings = result["job"]["settings"]
    job = {
        "name": result["job"]["name"], "sources": result["job"]["sources"],
        "settings": {name: settings[name] for name in ("alpha", "seed", "epochs", "seconds", "threads")},
    }  # fmt: skip
    kept = {name: result[name] for name in KEPT if name in result}
    return {"job": job, **kept, **({"seconds": result["seconds"]} if "seconds" in result else {})}


def describe_machine() -> None:
    """Write down which machine measured, and when."""
    from threadpoolctl import threadpool_info

    import w2vtrain.probability.dense  # noqa: F401  # loads the BLAS that is described

    names = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    blas = [f"{lib['internal_api']} {lib['version']} ({lib.get('architecture')})" for lib in threadpool_info()]
    machine = {
        "processor": names[0].partition(":")[2].strip() if names else platform.processor(),
        "cores": len(cores_of_process()), "blas": sorted(set(blas))[0],
        "date": datetime.now(UTC).date().isoformat(),
    }  # fmt: skip
    MEASURED.mkdir(exist_ok=True)
    (MEASURED / "machine.json").write_text(json.dumps(machine) + "\n", encoding="utf-8")


def main(ptb: str, enwiki: str) -> None:
    """Run every command that has no result yet, and keep the results after each."""
    folder = ROOT / "build/objectives"
    prepare(folder, Path(ptb), Path(enwiki))
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    for command in commands():
        print(f"$ {command}", flush=True)
        subprocess.run(["bash", "-e", "-c", command], cwd=folder, env=environment, check=True)
        keep(folder)
        describe_machine()


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: make objectives PTB=FOLDER ENWIKI=FILE")
    main(*sys.argv[1:])
