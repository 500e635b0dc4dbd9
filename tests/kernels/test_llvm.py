"""The link between a NumPy reference and its emitter: argument types, and separate code for each operation."""

import os
import subprocess
import sys

import pytest
from llvmlite import ir
from numba import float32, int8, njit, uint32
from numba.core import types
from numba.core.errors import TypingError

from w2vtrain.kernels.jit import kernel
from w2vtrain.kernels.llvm import I64, LANES, emitter_of


def make_add(more):
    """Return an operation whose reference and emitter add different numbers, so that a test sees which one ran."""

    def add(n):
        return n + more

    @emitter_of(add, types.int64)
    def _(context, builder, signature, args):
        return builder.add(args[0], ir.Constant(I64, 1000 + more))

    return add


def test_kernels_are_compiled_for_the_processor_that_make_test_processors_names():
    assert int(os.environ.get("W2V_LANES", LANES)) == LANES


def test_python_runs_the_reference_and_kernels_run_the_emitted_code():
    add = make_add(1)

    @kernel()
    def call(n):
        return add(n)

    assert add(5) == 6
    assert call(5) == 1006


def test_operations_from_the_same_factory_do_not_share_code():
    one, two = make_add(1), make_add(2)

    @kernel()
    def call(n):
        return one(n), two(n)

    assert call(0) == (1001, 1002)


def test_integers_arrive_as_int64_and_floats_as_float32():
    seen = []

    def operation(a, b, c, d):
        """Do nothing."""

    @emitter_of(operation)
    def _(context, builder, signature, args):
        seen.append(signature.args)

    @njit  # not a cached kernel: the second run would load it from disk without calling the emitter
    def call(a, b):
        operation(int8(a), uint32(a), b, True)
        return operation(a, 3, float32(b), a > 0)

    assert call(1, 0.5) is None
    assert seen == [(types.int64, types.int64, types.float32, types.boolean)]  # both calls share one function


def test_a_wrong_number_of_arguments_is_an_error():
    add = make_add(1)

    @kernel()
    def call(n):
        return add(n, n)

    with pytest.raises(TypingError):
        call(1)


CLOSED_OVER = """
import sys
import numpy as np
from w2vtrain.kernels.jit import kernel
from w2vtrain.kernels.rows import padded_rows
from w2vtrain.kernels.tiles import make_update_one

def call_of(operation):
    @kernel()
    def call(H, B, bi, j, G, D):
        operation(H, B, bi, j, G, D)
    return call

for nj in map(int, sys.argv[1:]):
    B, D = padded_rows(9, 16), padded_rows(1, 16)
    call_of(make_update_one(nj))(B[:1] + 1, B, np.arange(9, dtype=np.int32), 0, np.ones((1, 40), np.float32), D)
    print(int((B != 0).any(axis=1).sum()))
"""


def test_cached_kernel_is_reused_only_for_the_operation_it_closes_over(tmp_path):
    """Each process creates the operations again, so cache file names must not depend on the process."""

    def run(*widths):
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
        words = [sys.executable, "-c", CLOSED_OVER, *widths]
        done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
        return done.stdout.split(), {file.stat().st_ino for file in tmp_path.glob("*.machine")}

    printed, first = run("3", "4")
    assert printed == ["3", "4"]
    assert len(first) == 2
    assert run("4", "3") == (["4", "3"], first)
