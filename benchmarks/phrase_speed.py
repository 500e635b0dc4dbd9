"""Measure finding and joining phrases beside gensim's Phrases, and print the table of docs/guides/phrases.md.

    python benchmarks/phrase_speed.py enwiki30.txt

Each figure is measured in a process of its own, with one thread, and the systems alternate. The corpus has one sentence
per line. Compiling is not measured.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

SYSTEMS = ("w2vtrain", "gensim")
ROWS = ("count (w2vtrain: and score)", "count and score", "count, score, join and write")

GENSIM = """
import json, sys, time
from gensim.models.phrases import Phrases
from gensim.models.word2vec import LineSentence

path, output, _ = sys.argv[1:]
started = time.process_time()
phrases = Phrases(LineSentence(path))
counted = time.process_time()
count = len(phrases.export_phrases())
exported = time.process_time()
exporting = exported - counted  # joining does not need it
with open(output, "w", encoding="utf-8") as file:
    file.writelines(" ".join(phrases[sentence]) + "\\n" for sentence in LineSentence(path))
print(json.dumps([counted - started, exported - started, time.process_time() - started - exporting, count]))
"""
# Our pairs are counted and scored in one call. It runs twice: the first time only to see what finding takes.
W2VTRAIN = """
import json, sys, time
from pathlib import Path
from w2vtrain.text.joining import joined_text
from w2vtrain.text.phrase_finding import find_in, read_text
from w2vtrain.text.phrase_table import Scoring
from w2vtrain.text.text_files import Corpus

path, output, small = sys.argv[1:]
folder = Path(output).parent

def joined(path, join_last):
    return find_in(read_text(Corpus([path]), folder=folder), Scoring(), folder, join_last=join_last)

def write(lines):
    with open(output, "wb") as file:
        file.writelines(joined_text(lines))

write(joined(small, True)[1])
times = [time.process_time()]
joined(path, False)
times.append(time.process_time())
table, lines = joined(path, True)
write(lines)
times.append(time.process_time())
find, job = times[1] - times[0], times[2] - times[1]
print(json.dumps([find, find, job, len(table)]))
"""
SMALL = "".join(f"{number} is new york\n" for number in range(20_000))


def measured(system: str, corpus: Path, folder: Path) -> tuple[list[float], bytes]:
    """Return the CPU seconds of counting, finding and the whole job, the number of phrases, and the joined text."""
    small, output = folder / "small.txt", folder / f"{system}.txt"
    small.write_text(SMALL, encoding="utf-8")
    code = W2VTRAIN if system == "w2vtrain" else GENSIM
    arguments = [sys.executable, "-c", code, str(corpus), str(output), str(small)]
    run = subprocess.run(arguments, check=True, stdout=subprocess.PIPE)
    return json.loads(run.stdout), output.read_bytes()


def table(rows: dict[str, list[list[float]]]) -> list[str]:
    """Return the lines of the table: medians over the repeats of each system."""
    lines = ["| | w2vtrain | gensim | gensim / w2vtrain |", "|---|---|---|---|"]
    for column, name in enumerate(ROWS):
        ours, theirs = (statistics.median(row[column] for row in rows[system]) for system in SYSTEMS)
        lines.append(f"| {name} | {ours:.2f} s | {theirs:.2f} s | {theirs / ours:.1f} |")
    return lines


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--repeats", type=int, default=3)
    asked = parser.parse_args(arguments)
    rows: dict[str, list[list[float]]] = {system: [] for system in SYSTEMS}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(asked.repeats):
            texts = []
            for system in SYSTEMS:
                row, text = measured(system, asked.corpus, Path(folder))
                rows[system].append(row)
                texts.append(text)
                print(f"{system}: {row[0]:.2f}, {row[1]:.2f}, {row[2]:.2f} s, {row[3]:,} phrases", file=sys.stderr)
            if texts[0] != texts[1]:
                raise SystemExit(f"{asked.corpus}: the joined texts differ")
    print("\n".join(table(rows)))


if __name__ == "__main__":
    main()
