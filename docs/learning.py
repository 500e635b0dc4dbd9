"""Write what how-word2vec-learns.md shows of computed things: its program's output, its table, and its two figures.

`make reference` runs it. tests/test_learning.py fails if any of them differs from what this module would write.
"""

import contextlib
import io
import re
import textwrap
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from w2vtrain.probability.noise import noise_distribution
from w2vtrain.probability.subsampling import keep_thresholds
from w2vtrain.probability.trees import Tree, huffman
from w2vtrain.text.encoded import read
from w2vtrain.text.text_files import Corpus

FOLDER = Path(__file__).parent
PAGE = FOLDER / "how-word2vec-learns.md"
PROGRAM = re.compile(r"```python\n(.*?)```\n\n```text\n(.*?)```", re.S)
TABLE = re.compile(r"(\| word \| count .*\n\|[-|]+\n)((?:\|.*\n)*)")
ABOUT_TREE = re.compile(r"(A Huffman tree gives .*?\n)\n", re.S)

SENTENCE = ["the", "cat", "drinks", "milk", "and", "the", "dog", "drinks", "water"]
TARGET, WINDOW = 2, 2
LEAF = "milk"
"""The word whose path is marked in the tree."""
WORDS = ("the", "is", "water", "salty")
"""The words of the table."""

HEAD = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 {height}" width="640" height="{height}" role="img"
     aria-labelledby="title description">
  <title id="title">{title}</title>
  <desc id="description">{description}</desc>
  <style>
    text {{ font-family: system-ui, -apple-system, "Segoe UI", "DejaVu Sans", Arial, sans-serif; font-size: 14px;
           fill: #1f2937; text-anchor: middle; }}
    .small {{ font-size: 12.5px; fill: #4b5563; }}
    .word {{ fill: #ffffff; stroke: #d1d5db; stroke-width: 1.3; }}
    .near {{ fill: #f6f1e1; stroke: #a98e45; stroke-width: 1.3; }}
    .target {{ fill: #e3effa; stroke: #4a7fb0; stroke-width: 1.3; }}
    .line {{ fill: none; stroke: #4b5563; stroke-width: 1.6; }}
    .axis {{ fill: none; stroke: #d1d5db; stroke-width: 1; }}
    .marked {{ stroke: #4a7fb0; stroke-width: 3.5; }}
  </style>
  <rect x="0.5" y="0.5" width="639" height="{bottom}" rx="10" fill="#ffffff" stroke="#d1d5db"/>
"""


def program(steps: int = 3) -> tuple[str, dict[str, Any]]:
    """Run the page's program with a number of steps; return what it prints, and its variables."""
    code = PROGRAM.search(PAGE.read_text(encoding="utf-8"))[1]
    assert "range(3)" in code
    variables: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(code.replace("range(3)", f"range({steps})"), variables)
    return printed.getvalue(), variables


def counted() -> tuple[list[str], np.ndarray]:
    """Return the words of the demo corpus and their counts (V,), the most frequent first."""
    with read(Corpus([str(FOLDER.parent / "data/simplewiki.txt")], "simple"), encodes=False) as counted:
        vocabulary = counted.vocabulary()
    return list(vocabulary.words), np.asarray(vocabulary.counts)


def percent(share: float) -> str:
    """Return a share with two digits, without a point at the end."""
    return f"{100 * share:#.2g}".rstrip(".") + "%" if share < 0.995 else "100%"


def table(words: list[str], counts: np.ndarray) -> str:
    """Return the rows of the table: shares of the text and of noise words, and the probability to be kept."""
    text, noise = counts / counts.sum(), noise_distribution(counts, 0.75)
    kept = (keep_thresholds(counts, 0.001) + 1.0) / 2**32
    named = {f"`{word}`": slice(words.index(word), words.index(word) + 1) for word in WORDS}
    rows = ""
    for name, which in (named | {"the 100 most frequent words": slice(100)}).items():
        of_text = text[which].sum()
        of_kept = (text[which] * kept[which]).sum() / of_text
        shares = " | ".join(percent(share) for share in (of_text, noise[which].sum(), of_kept))
        rows += f"| {name} | {counts[which].sum():,} | {shares} |\n"
    return rows


def sentence_tree() -> tuple[list[str], list[int], Tree]:
    """Return the words of the sentence, most frequent first, their counts, and Huffman's tree of them."""
    words = sorted(dict.fromkeys(SENTENCE), key=lambda word: -SENTENCE.count(word))
    counts = [SENTENCE.count(word) for word in words]
    return words, counts, huffman(np.array(counts))


def about_tree(counts: np.ndarray) -> str:
    """Return the paragraph on the lengths of paths, here and in the demo corpus."""
    words, _, tree = sentence_tree()
    lengths = dict(zip(words, np.diff(tree.start), strict=True))
    most, mean = max(words, key=SENTENCE.count), np.diff(huffman(counts).start) @ counts / counts.sum()
    text = (
        f"A Huffman tree gives frequent words short paths: here, `{most}` takes {lengths[most]} decisions and `{LEAF}` "
        f"takes {lengths[LEAF]}. With the {len(counts):,} words of the demo corpus, a target takes "
        f"{mean:.1f} decisions on average, where a softmax computes {len(counts):,} scores."
    )
    return textwrap.fill(text, 120) + "\n"


def page() -> str:
    """Return the page with its computed parts."""
    words, counts = counted()
    parts = (PROGRAM, 2, program()[0]), (TABLE, 2, table(words, counts)), (ABOUT_TREE, 1, about_tree(counts))
    text = PAGE.read_text(encoding="utf-8")
    for pattern, group, new in parts:
        first, last = pattern.search(text).span(group)
        text = text[:first] + new + text[last:]
    return text


def svg(height: int, title: str, description: str, lines: list[str]) -> str:
    """Return a figure in the style of data-flow.svg, 640 wide, on a ground that is light on dark pages, too."""
    head = HEAD.format(height=height, bottom=height - 1, title=title, description=description)
    return head + "".join(f"  {line}\n" for line in lines) + "</svg>\n"


def text(x: float, y: float, words: str, style: str = "") -> str:
    """Return a line of text, centered at x."""
    attribute = f' class="{style}"' if style else ""
    return f'<text{attribute} x="{x:.1f}" y="{y:.1f}">{escape(words)}</text>'


def box(x: float, y: float, word: str, style: str, width: float = 60) -> list[str]:
    """Return a word in a box whose center is (x, y)."""
    corner = f'x="{x - width / 2:.1f}" y="{y - 15:.1f}" width="{width:.1f}" height="30"'
    return [f'<rect class="{style}" {corner} rx="6"/>', text(x, y + 5, word)]


def window() -> list[str]:
    """Draw the sentence, its target and its context."""
    lines = []
    for place, word in enumerate(SENTENCE):
        x = 40 + 70 * place
        if 0 < abs(place - TARGET) <= WINDOW:
            middle, rise = (x + 40 + 70 * TARGET) / 2, 18 + 22 * (abs(place - TARGET) - 1)
            lines.append(f'<path class="line" d="M{x} 83 Q{middle:.1f} {83 - 2 * rise} {40 + 70 * TARGET} 83"/>')
        near = abs(place - TARGET) <= WINDOW
        lines += box(x, 100, word, "target" if place == TARGET else "near" if near else "word")
    return [*lines, text(40 + 70 * TARGET, 134, "target", "small"), text(320, 30, "context words predict the target")]


def arrows(left: float, heading: str, variables: dict[str, Any]) -> list[str]:
    """Draw the vectors of the page's program, from the middle of a panel that begins at `left`."""
    x, y, scale = left + 85, 290, 260
    lines = [text(left + 150, 395, heading, "small")]
    colors = {"cat": "#a98e45", "drinks": "#4a7fb0", "piano": "#b0574a"}
    vectors = dict(zip(colors, [variables["cat"], *variables["outputs"]], strict=True))
    lines.append(f'<path class="axis" d="M{left + 10} {y} H{left + 290} M{x} 165 V370"/>')
    for name, color in colors.items():
        across, up = (float(value) * scale for value in vectors[name])
        length = float(np.hypot(across, up))
        lines.append(f'<path class="line" style="stroke: {color}" d="M{x} {y} l{across:.1f} {-up:.1f}"/>')
        turn = f"translate({x + across:.1f} {y - up:.1f}) rotate({-np.degrees(np.arctan2(up, across)):.1f})"
        lines.append(f'<path transform="{turn}" d="M2 0 L-8 5 V-5 z" fill="{color}"/>')
        lines.append(text(x + (1 + 16 / length) * across + 14, y - (1 + 16 / length) * up + 5, name))
    return lines


def learning() -> str:
    """Return the figure of the window and of the vectors before and after learning."""
    before, after = program(0)[1], program(3)[1]
    description = (
        "The sentence, with arcs from each context word to the target, drinks. Below, three vectors: cat and drinks are"
        " nearer to each other after three steps, cat and piano farther apart."
    )
    lines = window() + arrows(15, "before", before) + arrows(330, "after three steps", after)
    return svg(412, "A window, and what one of its examples changes", description, lines)


def places(tree: Tree, size: int) -> dict[int, tuple[float, float]]:
    """Return the position of each node: words 0..size-1 are the leaves, in the order of their paths."""
    start = tree.start
    paths = [tuple(tree.codes[start[word] : start[word + 1]]) for word in range(size)]
    positions = {}
    for column, word in enumerate(sorted(range(size), key=paths.__getitem__)):
        positions[word] = (50 + 540 * column / (size - 1), 66 + 62.0 * len(paths[word]))
    parent, _ = tree.links()
    for node in range(size, 2 * size - 1):  # children have lower numbers than their parents
        children = [positions[child] for child in range(2 * size - 2) if parent[child] == node]
        positions[node] = sum(x for x, _ in children) / 2, min(y for _, y in children) - 62
    return positions


def tree_figure() -> str:
    """Return the figure of the tree."""
    words, counts, tree = sentence_tree()
    size, leaf = len(words), words.index(LEAF)
    at, (parent, _) = places(tree, size), tree.links()
    marked = {leaf, *(int(node) + size for node in tree.nodes[tree.start[leaf] : tree.start[leaf + 1]])}
    lines = []
    for child in range(2 * size - 2):
        (x, y), (up_x, up_y) = at[child], at[int(parent[child])]
        style = "marked" if child in marked else "line"
        lines.append(f'<path class="line {style}" d="M{up_x:.1f} {up_y:.1f} L{x:.1f} {y:.1f}"/>')
    for node in range(size, 2 * size - 1):
        style = "target" if node in marked else "word"
        lines.append(f'<circle class="{style}" cx="{at[node][0]:.1f}" cy="{at[node][1]:.1f}" r="11"/>')
    for word in range(size):
        x, y = at[word]
        lines += [
            *box(x, y, words[word], "near" if word == leaf else "word"),
            text(x, y + 31, f"{counts[word]}", "small"),
        ]
    lines.append(text(at[2 * size - 2][0], 38, "root", "small"))
    deepest = max(y for _, y in at.values())
    description = f"A tree with the words {', '.join(words)} at its leaves. The path from its root to {LEAF} is marked."
    return svg(int(deepest) + 50, "The Huffman tree of a sentence", description, lines)


FIGURES = {"learning.svg": learning, "huffman.svg": tree_figure}

if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8", newline="\n")
    for name, figure in FIGURES.items():
        (FOLDER / name).write_text(figure(), encoding="utf-8", newline="\n")
