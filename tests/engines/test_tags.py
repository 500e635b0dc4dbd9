"""Tags of documents in both engines, compared with naive versions."""

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import problem_of

from w2vtrain.architectures import architecture_class
from w2vtrain.architectures.contract import Layout
from w2vtrain.engines.block_engine import gather
from w2vtrain.engines.chunks import read_only
from w2vtrain.engines.window_engine import Extent, make_scratch
from w2vtrain.engines.window_kernel import Matrices, Windows, train_chunks
from w2vtrain.kernels.rows import padded_rows
from w2vtrain.objectives import objective_class
from w2vtrain.probability.dense import Workspace
from w2vtrain.probability.subsampling import keep_thresholds
from w2vtrain.text.encoded import Tags

SIZE, DIM = 9, 5
NAIVE = {
    "pv-dbow": "skipgram", "pv-dbow-words": "skipgram", "pv-dm": "cbow", "pv-dm-sum": "cbow-sum",
    "pv-dm-concat": "pv-dm-concat",
}  # fmt: skip
"""The reference of each architecture: a tag is context like a word."""
OWN = [[9, 10], [], [11], [10, 11, 9]]
"""The rows of the tags of four documents; the second has none."""
TAGS = Tags(np.array([0, 2, 2, 3, 6]), np.array([9, 10, 11, 10, 11, 9], np.int32), 3, 3)
OF = [2, 0, 0, 3, 1]
"""The document of each sentence."""
ALONE = Windows(1, False, False, False, tags=TAGS)
"""Windows without words."""


def text_of(sentences, documents):
    return read_only(
        np.concatenate([[*line, -2 - k] for line, k in zip(sentences, documents, strict=True)], dtype=np.int32)
    )


@pytest.mark.parametrize("model", NAIVE)
def test_the_window_kernel_agrees_with_the_naive_trainer(rng, model):
    sentences = [rng.integers(SIZE, size=size).tolist() for size in (12, 1, 7, 9, 5)]
    tokens, counts, cls = text_of(sentences, OF), np.arange(30, 30 - SIZE, -1), architecture_class(model)
    fast, slow = (objective_class("neg").build(problem_of(counts, dim=DIM)) for _ in "ab")
    ref, rows = reference.implementation_of("objectives", "neg")(slow), fast.output_rows(SIZE)
    train = reference.train_groups if model == "pv-dbow" else reference.train
    beside = [Windows(3, True, tags=TAGS), Windows(2, False, end=4, pads=1, tags=TAGS)] * (model != "pv-dbow")
    for windows in (ALONE, ALONE._replace(end=4, pads=1), *beside):
        parts = cls.concatenated(windows.size)
        windows, width = windows._replace(full=parts > 1), parts * DIM
        w_in, w_out = padded_rows(SIZE + 3, DIM), padded_rows(rows + 1, width)
        w_in[:, :DIM], w_out[:rows, :width] = rng.normal(size=(SIZE + 3, DIM)), rng.normal(size=(rows, width))
        slow_in, slow_out = w_in[:, :DIM].astype(float), w_out[:rows, :width].astype(float)
        before_in, before_out = slow_in.copy(), slow_out.copy()
        scratch = make_scratch(w_in, w_out, 0, 1, Extent(3, fast.candidate_limit, 50, tags=3))
        keep, lr = keep_thresholds(counts, 0.3), 1e-4
        architecture = cls.build(Layout(windows.size, DIM, DIM), {})
        loss, examples = train_chunks(
            architecture, fast, windows, tokens, np.array([0, len(tokens)]), np.zeros(1, np.int64), np.array([lr]),
            Matrices(w_in, w_out), width, keep, 0.0, 5, 2, scratch,
        )  # fmt: skip
        naive = reference.implementation_of("architectures", NAIVE[model])(windows.size, {})
        own = [OWN[k] for k in OF]
        expected = train(naive, ref, sentences, keep, windows, slow_in, slow_out, lr, (5, 2, 0), tags=own)
        assert examples == expected[1] > 0
        assert loss == pytest.approx(expected[0], rel=3e-3)
        for new, old, after in ((w_in[:, :DIM], before_in, slow_in), (w_out[:rows, :width], before_out, slow_out)):
            change = np.abs(after - old).max()
            np.testing.assert_allclose(new - old, after - old, atol=0.02 * change)
        assert np.abs(slow_in[SIZE:] - before_in[SIZE:]).min() > 0


@given(
    st.lists(st.lists(st.integers(0, SIZE - 1), min_size=1, max_size=9), min_size=5, max_size=5),
    st.sampled_from(
        [Windows(2, True, tags=TAGS), Windows(1, False, False, False, tags=TAGS), Windows(3, False, tags=TAGS)]
    ),
    st.sampled_from(list(NAIVE)),
    st.integers(0, 2**40),
)
@settings(max_examples=100)
def test_gather_agrees_with_the_naive_version(sentences, windows, model, seed):
    keep = np.linspace(2**31, 2**32 - 1, SIZE).astype(np.uint32)
    tokens, stream = text_of(sentences, OF), (seed, 3, 1)
    architecture = architecture_class(model).build(Layout(3, DIM, DIM), {})
    windows = windows._replace(full=architecture.concatenated(windows.size) > 1)
    (found,) = gather(tokens, 0, len(tokens), keep, windows, architecture, stream, Workspace())
    naive = reference.implementation_of("architectures", NAIVE[model])(3, {})
    expected = reference.examples(sentences, keep, windows, naive, stream, tags=[OWN[k] for k in OF])
    columns = (found.starts, found.sizes, found.lefts, found.indices, found.targets, found.previous)
    listed = [
        (target, found.contexts[start : start + n].tolist(), left, number, previous)
        for start, n, left, number, target, previous in zip(*(c.tolist() for c in columns), strict=True)
    ]
    assert listed == expected
