"""A measurement and the figures computed from what its job needs."""

from dataclasses import replace

from observed import Observed

from w2vtrain.leaves.compare.systems import Job


def test_operations_and_rows_are_per_cpu_second_of_training():
    found = Observed(Job("gensim", "cbow", "neg", "corpus", threads=2), 10, 2.0, 1.0, 3.0, 2.0, 1, {})
    assert (found.flops, found.row_speed) == (None, None), "gensim does not report them"
    needs = replace(found, operations=8.0, row_bytes=6.0)
    assert (needs.flops, needs.row_speed) == (4, 3)
