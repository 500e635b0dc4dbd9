"""What gensim's Phrases finds in the demo corpus; `python tests/text/gensim_phrases.py` writes gensim_phrases.json."""

import hashlib
import json
from pathlib import Path

from w2vtrain.text.phrase_table import CONNECTOR_WORDS, Scoring

CORPUS = Path(__file__).parents[2] / "data/simplewiki.txt"
STORED = Path(__file__).with_suffix(".json")
CASES = {
    "original": Scoring(),
    "two passes": Scoring(threshold=3.0, passes=2),
    "npmi": Scoring("npmi", threshold=0.3, passes=2),
    "connector words": Scoring(threshold=1.0, passes=2, connector_words=CONNECTOR_WORDS),
}
SIZES = {"part": 3000, "all": None}  # in lines


def lines(size):
    """Return the first lines of the demo corpus, each as text."""
    return CORPUS.read_text(encoding="utf-8").split("\n")[:-1][:size]


def digest(text):
    """Return a digest of a joined text."""
    return hashlib.sha256(text).hexdigest()


def by_gensim(texts, scoring):
    """Return the phrases of the last pass that gensim joins, each with its score, and the joined text."""
    from gensim.models.phrases import Phrases

    sentences = [text.split() for text in texts]
    for _ in range(scoring.passes):
        found = Phrases(
            sentences,
            min_count=scoring.min_count,
            threshold=scoring.threshold,
            scoring="npmi" if scoring.scoring == "npmi" else "default",
            delimiter=scoring.delimiter,
            connector_words=frozenset(scoring.connector_words),
        )
        scores = found.find_phrases(sentences)
        sentences = [list(found[sentence]) for sentence in sentences]
    return scores, "".join(f"{' '.join(sentence)}\n" for sentence in sentences).encode()


def main():
    """Write what gensim finds."""
    stored = {}
    for size, number in SIZES.items():
        for case, scoring in CASES.items():
            scores, text = by_gensim(lines(number), scoring)
            some = dict(sorted(scores.items())[:: max(1, len(scores) // 20)])
            stored[f"{size}, {case}"] = {"digest": digest(text), "joined": len(scores), "scores": some}
    STORED.write_text(json.dumps(stored, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
