"""The pages for newcomers: their programs do what the pages say, as does the package, and their figures are current."""

import contextlib
import importlib.util
import io
from pathlib import Path

import numpy as np
import pytest
from snippets import blocks

from w2vtrain.kernels.rows import ROW
from w2vtrain.objectives import objective_class
from w2vtrain.objectives.contract import Candidates

ROOT = Path(__file__).parent.parent
LEARNING = "docs/how-word2vec-learns.md"


@pytest.fixture(scope="module")
def learning():
    spec = importlib.util.spec_from_file_location("learning", ROOT / "docs/learning.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_output_the_table_and_the_tree_of_the_page_are_current(learning):
    assert (ROOT / LEARNING).read_text(encoding="utf-8") == learning.page(), "run `make reference`"


@pytest.mark.parametrize("name", ["learning.svg", "huffman.svg"])
def test_the_figures_are_current(learning, name):
    assert (ROOT / "docs" / name).read_text(encoding="utf-8") == learning.FIGURES[name](), "run `make reference`"


def test_the_errors_of_the_page_are_those_of_the_objective_neg(learning):
    """The objective puts the rate times each error in the place of its logit, and returns the loss."""
    variables = learning.program(1)[1]
    scores, probabilities, rate = variables["scores"], variables["probabilities"], np.float32(variables["rate"])
    logits, labels = np.zeros((1, 2 + ROW), np.float32), np.zeros(2 + ROW, np.float32)
    logits[0, :2], labels[0] = scores, 1
    candidates = Candidates(np.arange(2, dtype=np.int32), labels, np.zeros(2 + ROW, np.float32), 2)
    loss = objective_class("neg").errors(None, logits, None, candidates, rate)
    np.testing.assert_allclose(logits[0, :2], rate * variables["errors"], rtol=1e-5)
    assert loss == pytest.approx(-np.log(probabilities[0]) - np.log(1 - probabilities[1]), rel=1e-5)


def test_the_steps_of_the_page_bring_the_pair_of_the_text_together_and_part_the_other(learning):
    before, after = (
        np.array(learning.program(steps)[1]["outputs"] @ learning.program(steps)[1]["cat"]) for steps in (0, 3)
    )
    assert before[1] > before[0], "at first, piano is more probable"
    assert after[0] > before[0]
    assert after[1] < before[1]


def printed(block: str) -> list[list[str]]:
    """Run a program of a page and return the words of each line that it prints."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(block, {"__name__": "__main__"})
    return [line.split() for line in out.getvalue().splitlines()]


def test_sessions_and_walks_find_the_items_and_the_nodes_that_belong_together():
    pages = ("docs/guides/sessions.md", "docs/guides/graphs.md")
    sessions, graph = (next(b.text for b in blocks(page) if b.language == "python") for page in pages)
    assert {line[0] for line in printed(sessions)} == {"tea", "cup", "honey"}
    (nearest,) = printed(graph)
    assert len(nearest) == 5
    assert {node[0] for node in nearest} == {"b"}
