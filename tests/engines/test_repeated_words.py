"""A context word that occurs twice in a window: which values its updates use, pinned at a large learning rate.

The kernels run as plain Python in float64; tests/kernels compares the compiled operations with their Python versions.
"""

from types import SimpleNamespace

import numpy as np
import pytest
import reference
from reference import problem_of

from w2vtrain.architectures import architecture_class
from w2vtrain.architectures.contract import Layout
from w2vtrain.engines.window_engine import Extent, make_scratch
from w2vtrain.engines.window_kernel import Matrices, train_window
from w2vtrain.kernels.rows import padded_rows
from w2vtrain.kernels.tiles import ROWS_AT_ONCE
from w2vtrain.objectives import objective_class
from w2vtrain.objectives.contract import Candidates, Window

SIZE, DIM, WINDOW, LR = 20, 7, 3, 0.5
CONTEXT, LEFT = [3, 1, 3], 2
# Of a target and 8 noise words, six of which are updated together if there are enough registers.
TILES = [*(slice(first, first + ROWS_AT_ONCE) for first in range(0, 6, ROWS_AT_ONCE)), slice(6, 9)]


def trained(rng, model, lr=LR, bias=False):
    """Train on one window. Return the arrays before and after, the reference implementations, and their candidates.

    arrays: input and output rows, and what the architecture learns, by name, without padding. With biases, they and the
    ones are the last column.
    """
    width = DIM + bias
    objective = objective_class("neg").build(problem_of(np.arange(40, 40 - SIZE, -1), dim=DIM), negative=8)
    w_in, w_out = rng.normal(size=(SIZE, 16)), rng.normal(size=(SIZE + 1, 16))
    w_in[:, DIM:width], w_in[:, width:], w_out[:, width:], w_out[SIZE] = 1, 0, 0, 0
    rows = padded_rows(SIZE, width), padded_rows(SIZE + 1, width)
    scratch = make_scratch(*rows, 0, 1, Extent(WINDOW, 9, 20), DIM if bias else -1)
    wide = ("labels", "shifts", "logits", "hidden", "gradient")
    scratch = scratch._replace(**{name: getattr(scratch, name).astype(np.float64) for name in wide})
    scratch.rng[0] = 5
    found = scratch.rows[0], scratch.labels[0], scratch.shifts[0]
    assert objective.candidates(np.array([7], np.int32), 0, scratch.rng, *found) == 9
    scratch.context[: len(CONTEXT)] = CONTEXT
    architecture = architecture_class(model).build(Layout(WINDOW, DIM, DIM), {})
    learned = {name: array.astype(np.float64) for name, array in architecture.learned().items()}
    for array in learned.values():
        array[:, :DIM] = rng.normal(size=(len(array), DIM))
    architecture = architecture._replace(**learned)
    arrays = {"input": w_in[:, :width], "output": w_out[:SIZE, :width], **{k: a[:, :DIM] for k, a in learned.items()}}
    before = {name: array.copy() for name, array in arrays.items()}
    window = Window(scratch.context, len(CONTEXT), LEFT)
    train_window(architecture, objective, Matrices(w_in, w_out), window, Candidates(*found, 9), lr, scratch)
    naive = {name: before[name].copy() for name in learned}
    references = (
        reference.implementation_of("architectures", model)(WINDOW, naive),
        reference.implementation_of("objectives", "neg")(objective),
    )
    listed = list(zip(*(part[:9].tolist() for part in found), strict=True))
    return SimpleNamespace(before=before, after=arrays, references=references, found=listed, naive=naive)


def clean(run, lr=LR):
    """Return all arrays after the window if every update uses the values from before it."""
    arrays = {name: array.copy() for name, array in run.before.items()}
    run.naive.update({name: arrays[name] for name in run.naive})
    run.references[0].arrays = {name: arrays[name] for name in run.naive}
    reference.learn_window(*run.references, (CONTEXT, LEFT), run.found, arrays["input"], arrays["output"], lr)
    return arrays


def pair_by_pair(run):
    """Return the arrays if each context word is trained on after the one before it, as in word2vec.c."""
    arrays = {name: array.copy() for name, array in run.before.items()}
    for word in CONTEXT:
        reference.learn_window(*run.references, ([word], 1), run.found, arrays["input"], arrays["output"], LR)
    return arrays


def tile_by_tile(run):
    """Return skip-gram's arrays: coefficients from the old values, updates by tile and, in a tile, by context word."""
    rows, output = run.before["input"].copy(), run.before["output"].copy()
    old = output.copy()
    candidates = np.array([row for row, _, _ in run.found])
    g = [-LR * reference.slopes_of_line(rows[w], old, run.found, run.references[1], [w])[1] for w in CONTEXT]
    for tile in TILES:
        for word, coefficients in zip(CONTEXT, g, strict=True):
            h = rows[word].copy()
            rows[word] += coefficients[tile] @ old[candidates[tile]]
            rows[word, DIM:] = 1
            output[candidates[tile]] += np.outer(coefficients[tile], h)
    return {"input": rows, "output": output}


@pytest.mark.parametrize("bias", [False, True], ids=["no bias", "bias"])
def test_in_skipgram_an_output_row_learns_from_input_rows_that_the_window_has_already_changed(rng, bias):
    """Scores come from the old values, and the input row gets the sum of its updates. Biases learn from ones alone."""
    run = trained(rng, "skipgram", bias=bias)
    assert len({row for row, _, _ in run.found}) == 9, "merged candidates would need a more complex reference"
    for name, expected in tile_by_tile(run).items():
        np.testing.assert_allclose(run.after[name], expected, atol=1e-7)
    np.testing.assert_allclose(run.after["input"][:, :DIM], clean(run)["input"][:, :DIM], atol=1e-7)
    for other in (clean(run)["output"], pair_by_pair(run)["output"]):
        assert np.abs(run.after["output"] - other).max() > 0.05
    assert np.abs(run.after["input"][3] - pair_by_pair(run)["input"][3]).max() > 0.05


def test_in_skipgram_the_difference_from_old_values_is_of_second_order(rng):
    seed, off = rng.integers(1 << 30), []
    for lr in (0.02, 0.01):
        run = trained(np.random.default_rng(seed), "skipgram", lr)
        off.append(np.abs(run.after["output"] - clean(run, lr)["output"]).max())
    assert off[0] / off[1] == pytest.approx(4, rel=1e-3)


@pytest.mark.parametrize("model", ["cbow", "cbow-corrected"])
def test_in_cbow_all_updates_use_the_old_values(rng, model):
    run = trained(rng, model)
    for name, expected in clean(run).items():
        np.testing.assert_allclose(run.after[name], expected, atol=1e-7, err_msg=name)
    one = np.abs(run.after["input"][1] - run.before["input"][1])
    np.testing.assert_allclose(np.abs(run.after["input"][3] - run.before["input"][3]), 2 * one, atol=1e-12)


def test_in_vlbl_only_the_second_position_of_a_repeated_word_learns_from_the_changed_row(rng):
    run = trained(rng, "vlbl")
    for name, expected in clean(run).items():  # the reference's `learn` takes the context words in order, too
        np.testing.assert_allclose(run.after[name], expected, atol=1e-7, err_msg=name)
    weights, row = run.before["context_weights"], run.before["input"][3]
    changes = run.after["context_weights"] - weights
    first, second = 1, WINDOW  # the positions of word 3: two before the target, and one after it
    np.testing.assert_allclose(changes[second] / changes[first], 1 + (10 * changes[first] / row) * weights[first] / row)
