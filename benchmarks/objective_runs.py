"""Measure what docs/measurements.md shows: run its commands, and keep the results in docs/measured.

Run it as `make objectives PTB=FOLDER ENWIKI=FILE GERMAN=FILE`. It takes hours and may be interrupted: the same command
resumes. `make objectives CORPUS=FILE` compares the objectives on any other text instead, and changes no page.
"""

import argparse
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import zlib
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "docs"))

import yardstick

from w2vtrain.system.machine import cores_of_process, processor_name

ROOT = Path(__file__).parent.parent
MEASURED = ROOT / "docs/measured"
COMMAND = re.compile(r"^```sh\n# takes [^\n]*\n(.*?)^```$", re.DOTALL | re.MULTILINE)
HELD_OUT_BYTES, CURVE_BYTES = 300_000, 30_000
"""Bytes at the end of a text that are held out for testing, and bytes before them for the curves."""
KEPT = (
    "words_per_second", "words_per_cpu_second", "output_parameters", "peak_memory_bytes", "vocabulary", "corpus_words",
    "width", "test", "scoring", "scores", "failed",
)  # fmt: skip
"""The parts of a result that the page needs."""
KEPT_SETTINGS = ("alpha", "seed", "epochs", "seconds", "threads", "weight_decay")


def prepare(folder: Path, ptb: Path, enwiki: Path, german: Path) -> None:
    """Put the texts into the folder in which the page's commands run, under the names that they use."""
    folder.mkdir(parents=True, exist_ok=True)
    links = {f"ptb.{part}.txt": ptb / f"ptb.{part}.txt" for part in ("train", "valid", "test")}
    links |= {"configs": ROOT / "configs", "data": ROOT / "data"}
    for name, target in links.items():
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(target.resolve(strict=True))
    divide(folder, "enwiki", enwiki)
    divide(folder, "german", german)
    if not (folder / "phrases.txt").exists():
        known = phrases((folder / "enwiki.txt").read_text(encoding="utf-8"))
        for part in (".end", ".curve", ""):
            lines = (folder / f"enwiki{part}.txt").read_text(encoding="utf-8").splitlines()
            text = "".join(joined(line.split(), known) + "\n" for line in lines)
            (folder / "part").write_text(text, encoding="utf-8")
            (folder / "part").rename(folder / f"phrases{part}.txt")


def divide(folder: Path, name: str, text: Path) -> None:
    """Write a text without its end to NAME.txt, and its end to NAME.curve.txt and NAME.end.txt, unless they exist."""
    if (folder / f"{name}.end.txt").exists():
        return
    whole = text.read_bytes()
    test = whole.rfind(b"\n", 0, max(0, len(whole) - HELD_OUT_BYTES)) + 1
    curve = whole.rfind(b"\n", 0, max(0, test - CURVE_BYTES)) + 1
    if curve < HELD_OUT_BYTES:
        least = 2 * (HELD_OUT_BYTES + CURVE_BYTES)
        sys.exit(f"{text}: a text of at least {least:,} bytes, with a paragraph per line, is needed")
    parts = {name: whole[:curve], f"{name}.curve": whole[curve:test], f"{name}.end": whole[test:]}
    for part_name, part in parts.items():
        (folder / "part").write_bytes(part)
        (folder / "part").rename(folder / f"{part_name}.txt")  # a file with this name is complete


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
    return COMMAND.findall((ROOT / "docs/_measurements.md").read_text(encoding="utf-8"))


def keep(folder: Path) -> None:
    """Copy the results of each comparison in `folder` to docs/measured, without what the page does not need.

    Write down which machine measured what is new.
    """
    MEASURED.mkdir(exist_ok=True)
    machines = MEASURED / "machines.json"
    page = (ROOT / "docs/_measurements.md").read_text(encoding="utf-8")
    known = json.loads(machines.read_text(encoding="utf-8")) if machines.exists() else {}
    for path in sorted(folder.glob("*/compare.json")):
        results = json.loads(path.read_text(encoding="utf-8"))
        text = "".join(json.dumps(yardstick.rounded(condensed(r))) + "\n" for r in results)
        kept = MEASURED / f"{path.parent.name}.jsonl"
        if kept.exists() and kept.read_text(encoding="utf-8") == text:
            continue
        if not kept.exists() or speeds(kept.read_text(encoding="utf-8")) != speeds(text):
            known[path.parent.name] = machine()
        kept.write_text(text, encoding="utf-8")
        if text_of := yardstick.TIMED.get(path.parent.name):
            yardstick.picture([condensed(r) for r in results], text_of, MEASURED / f"{path.parent.name}.png")
        elif f"measured/{path.parent.name}.png" in page:
            shutil.copyfile(path.parent / "curves.png", MEASURED / f"{path.parent.name}.png")
    machines.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")


def speeds(lines: str) -> dict[str, float | None]:
    """Return the speed of each run in a file of condensed results, by its name."""
    return {run["job"]["name"]: run.get("words_per_cpu_second") for run in map(json.loads, lines.splitlines())}


def condensed(result: dict[str, Any]) -> dict[str, Any]:
    """Return the parts of a result that the page needs.

    validation: the perplexity of the text that chose the epoch whose weights are scored; left out with a time limit.
    """
    settings = result["job"]["settings"]
    job = {
        "name": result["job"]["name"], "sources": result["job"]["sources"],
        "settings": {name: settings[name] for name in KEPT_SETTINGS},
    }  # fmt: skip
    kept = {name: result[name] for name in KEPT if name in result}
    if settings["seconds"] is None and result.get("curve"):
        scored = [point["perplexity"] for point in result["curve"] if point["perplexity"] is not None]
        kept["validation"] = min(scored, default=None)
    return {"job": job, **kept, **({"seconds": result["seconds"]} if "seconds" in result else {})}


def machine() -> dict[str, Any]:
    """Return which machine this is, and what day."""
    from threadpoolctl import threadpool_info

    import w2vtrain.probability.dense  # noqa: F401  # loads the BLAS that is described

    blas = [f"{lib['internal_api']} {lib['version']} ({lib.get('architecture')})" for lib in threadpool_info()]
    return {
        "processor": processor_name(), "cores": len(cores_of_process()), "blas": sorted(set(blas))[0],
        "date": datetime.now(UTC).date().isoformat(),
    }  # fmt: skip


def run(command: str, folder: Path) -> None:
    """Run a command of the page in a folder."""
    print(f"$ {command}", flush=True)
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    subprocess.run(["bash", "-e", "-c", command], cwd=folder, env=environment, check=True)


def measure_page(ptb: str, enwiki: str, german: str) -> None:
    """Run every command of the page that has no result yet, and keep the results after each."""
    folder = ROOT / "build/objectives"
    prepare(folder, Path(ptb), Path(enwiki), Path(german))
    for command in commands():
        run(command, folder)
        keep(folder)


def measure_other(corpus: Path) -> None:
    """Compare the objectives on any text, by the page's command for German, and print its table.

    The weight decay is that for a text of this size. The folder belongs to this text as it is now, so that no results
    of another one are taken for its own.
    """
    status = corpus.stat()
    version = zlib.crc32(f"{corpus.resolve()} {status.st_size} {status.st_mtime_ns}".encode())
    folder = ROOT / "build/objectives" / f"{corpus.stem}-{version:08x}"
    folder.mkdir(parents=True, exist_ok=True)
    divide(folder, "german", corpus)
    (folder / "configs").unlink(missing_ok=True)
    (folder / "configs").symlink_to(ROOT / "configs")
    with (folder / "german.txt").open("rb") as text:
        decay = weight_decay(sum(len(line.split()) for line in text))
    command = next(command for command in commands() if " -o german " in command)
    run(re.sub(r"--weight-decay \S+", f"--weight-decay {decay:g}", command), folder)
    results = json.loads((folder / "german/compare.json").read_text(encoding="utf-8"))
    print(yardstick.results_table([condensed(r) for r in results]))


def weight_decay(words: int) -> float:
    """Return a weight decay for a language model trained on a text of `words` words.

    The best of those tried was 1.5e-5 with 0.9 million words, 5e-6 with 2.8 million, and 0 with 16.6 million. With
    3.6 million words of German, on which this was not chosen, it is better than 0 and 1.5e-5.
    """
    return 0.0 if words > 10_000_000 else min(1.5e-5, float(f"{14 / words:.2g}"))


def main() -> None:
    """Measure the page, or another text."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("ptb", "enwiki", "german"):
        parser.add_argument(f"--{name}", default="")
    parser.add_argument("--corpus", type=Path, help="compare the objectives on this text instead")
    given = parser.parse_args()
    if given.corpus:
        measure_other(given.corpus)
    elif all((given.ptb, given.enwiki, given.german)):
        measure_page(given.ptb, given.enwiki, given.german)
    else:
        parser.error("usage: make objectives PTB=FOLDER ENWIKI=FILE GERMAN=FILE, or make objectives CORPUS=FILE")


if __name__ == "__main__":
    main()
