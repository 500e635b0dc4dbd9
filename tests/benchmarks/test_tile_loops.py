"""The inner loops of products and updates keep their values in registers, as compiled for several processors."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest
import tile_loops

SCRIPT = Path(tile_loops.__file__)
X86 = platform.machine().lower() in ("x86_64", "amd64")


def loops(processor):
    """Return the rows that the script prints for a processor, as (operation, figures)."""
    command = [sys.executable, str(SCRIPT), processor]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ).stdout
    return [(line[:22].strip(), [int(figure) for figure in line[22:].split()]) for line in printed.splitlines()[1:]]


@pytest.mark.parametrize(
    "processor",
    ["avx2", *(pytest.param(name, marks=pytest.mark.slow) for name in ("avx512", "neon"))] if X86 else ["host"],
)
def test_no_inner_loop_of_a_tile_keeps_a_vector_on_the_stack(processor):
    found = loops(processor)
    assert {"dots_2x6", "update_many", "update_many, in turn", "update_one_6", "sum_rows"} <= {
        name for name, _ in found
    }
    for name, (_, arithmetic, loads, stores, vectors) in found:
        assert arithmetic > 0
        assert (stores, vectors) == (0, 0), f"{name} as compiled for {processor}"
        assert loads == 0 or processor != "avx2", f"{name} reads addresses from the stack"


SPILLED = """
call:
\tmovq\t8(%rdi), %rcx
.LBB0_1:
\tvmovups\t(%rdi,%rcx), %ymm0
.LBB0_2:
\tvfmadd231ps\t32(%rsp), %ymm0, %ymm1
\tvmovups\t%ymm1, 64(%rsp)
\tmovq\t8(%rsp), %rdx
\tcmpq\t%rdx, %rcx
\tjl\t.LBB0_2
\tvmulps\t%ymm0, %ymm1, %ymm2
\tvmovups\t%ymm2, 96(%rsp)
\tjne\t.LBB0_1
\tretq
"""


def test_only_the_inner_of_two_loops_counts_and_what_it_keeps_on_the_stack():
    (lines,) = tile_loops.inner_loops(SPILLED)
    frame = tile_loops.frame_of(SPILLED)
    assert tile_loops.described("tile", lines, frame) == tile_loops.Loop("tile", 5, 1, loads=2, stores=1, vectors=2)
