"""The O(d²) step of the spherical softmax, against one that visits every row."""

import numpy as np
import pytest
import spherical


def direct(output, H, targets, rate, shrink, epsilon):
    """Return the losses (B,), -dL/dH (B, d) and the new rows (V, d) of a block, from all scores (B, V)."""
    scores = H @ output.T
    weights = scores**2 + epsilon
    lines = np.arange(len(H))
    slopes = 2 * scores / weights.sum(axis=1)[:, None]  # dL/ds
    slopes[lines, targets] -= 2 * scores[lines, targets] / weights[lines, targets]
    changed = output - rate * slopes.T @ H
    changed[:, :-1] *= shrink
    return -np.log(weights[lines, targets] / weights.sum(axis=1)), -slopes @ output, changed


def test_blocks_change_the_rows_as_the_whole_gradient_does(rng, monkeypatch):
    monkeypatch.setattr(spherical, "MAX_INVERSE", 1.2)  # folds U after some of the blocks
    output = rng.normal(size=(40, 7))
    rows = spherical.Rows(output, 0.2)
    for _ in range(8):
        H, targets = rng.normal(size=(5, 7)), rng.integers(6, size=5)  # some targets occur twice
        losses, gradient, output = direct(output, H, targets, 0.05, 0.99, 0.2)
        found = rows.step(H, targets, 0.05, 0.99)
        np.testing.assert_allclose(found[0], losses, rtol=1e-9)
        np.testing.assert_allclose(found[1], gradient, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(rows.output(), output, rtol=1e-7, atol=1e-9)


def test_a_text_has_the_two_words_before_each_word_of_a_line(tmp_path):
    (tmp_path / "t.txt").write_text("a b unknown a\nb\n")
    text = spherical.text_of(tmp_path / "t.txt", {"</s>": 0, "a": 1, "b": 2})
    assert text.targets.tolist() == [1, 2, 1, 0, 2, 0]
    assert text.context.tolist() == [[3, 1, 2, 1, 3, 2], [3, 3, 1, 2, 3, 3]]


def test_training_lowers_the_perplexity(tmp_path, monkeypatch):
    monkeypatch.setattr(spherical, "BLOCK", 8)
    (tmp_path / "t.txt").write_text("a b c d\nb c d a\n" * 300)
    text = spherical.text_of(tmp_path / "t.txt", {"</s>": 0, "a": 1, "b": 2, "c": 3, "d": 4})
    model = spherical.Model(np.array([600.0, 600, 600, 600, 600]), 0.1, 1)
    assert model.score(text)[0] == pytest.approx(5, rel=0.2)
    spherical.train(model, text, 2, 0.02, 0.0)
    perplexity, first, ten = model.score(text)
    assert perplexity < 2
    assert first > 0.7
    assert ten == 1
