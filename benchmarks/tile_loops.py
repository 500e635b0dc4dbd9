"""Show the inner loops of tiles.py and rows.py as compiled for a processor, and how often they read or write the stack.

    python benchmarks/tile_loops.py avx2

A sum that LLVM keeps on the stack, because the processor has too few registers, makes each addition wait for a store
and a load: with 16 registers, skip-gram was half as fast. Nothing is measured here and no compiled code is run, so any
of the processors will do: `avx2`, `avx512` and `sse` on x86-64, `neon` on x86-64 by cross-compilation, `host` anywhere.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

import click

PROCESSORS = {
    "host": {},
    "sse": {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""},
    "neon": {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""},  # 4 lanes, too
    "avx2": {
        "NUMBA_CPU_NAME": "haswell",
        "NUMBA_CPU_FEATURES": "+sse4.2,+popcnt,+avx,+avx2,+fma,+f16c,+bmi,+bmi2,+lzcnt,+movbe",
    },
    "avx512": {
        "NUMBA_CPU_NAME": "skylake-avx512",
        "NUMBA_CPU_FEATURES": "+sse4.2,+popcnt,+avx,+avx2,+fma,+f16c,+bmi,+bmi2,+lzcnt,+movbe,+avx512f,+avx512vl,"
        "+avx512bw,+avx512dq,+avx512cd",
    },
}
"""Processors and the variables that make Numba compile for them. A name alone would keep the host's features."""

NEON = "aarch64-unknown-linux-gnu"
JUMP = re.compile(r"\t(j\w+|b|b\.\w+|cbn?z|tbn?z)\t(?:.*,\s*)?(\.?L\w+)$")
LABEL = re.compile(r"^(\.?L\w+):")
ARITHMETIC = re.compile(r"\tv?(fn?m\w+ps|mulps|addps|fml[as]|fmul|fadd)\t")


class Loop(NamedTuple):
    """An inner loop: the operation, its instructions, and how many of them compute on vectors.

    loads, stores: instructions that read or write the stack; vectors: those of both whose register is a vector.
    """

    operation: str
    instructions: int
    arithmetic: int
    loads: int
    stores: int
    vectors: int


def blocks_of(assembly: str) -> tuple[list[list[str]], list[list[int]]]:
    """Return the basic blocks of the functions, as lists of instructions, and the blocks that may follow each."""
    blocks: list[list[str]] = [[]]
    names: dict[str, int] = {}
    targets: list[list[int]] = []
    for line in assembly.splitlines():
        if label := LABEL.match(line):
            blocks.append([])
            names[label[1]] = len(blocks) - 1
        elif re.match(r"\t[a-z]", line):
            blocks[-1].append(line)
            if JUMP.match(line) or re.match(r"\tret", line):
                blocks.append([])
    for k, block in enumerate(blocks):
        last = block[-1] if block else ""
        jump = JUMP.match(last)
        ends = re.match(r"\t(ret|jmp|b\t)", last)
        after = [] if ends or k + 1 == len(blocks) else [k + 1]
        targets.append(after + ([names[jump[2]]] if jump and jump[2] in names else []))
    return blocks, targets


def dominators(targets: list[list[int]]) -> list[set[int]]:
    """Return for each block those that every path from the first block passes, itself included."""
    sources: list[list[int]] = [[] for _ in targets]
    for k, after in enumerate(targets):
        for target in after:
            sources[target].append(k)
    passed = [{0}, *[set(range(len(targets))) for _ in targets[1:]]]
    changed = True
    while changed:
        changed = False
        for k in range(1, len(targets)):
            common = set.intersection(*(passed[s] for s in sources[k])) if sources[k] else set()
            if (found := common | {k}) != passed[k]:
                passed[k], changed = found, True
    return passed


def inner_loops(assembly: str) -> Iterator[list[str]]:
    """Yield the instructions of each natural loop that contains no other."""
    blocks, targets = blocks_of(assembly)
    passed = dominators(targets)
    loops: dict[int, set[int]] = {}
    for k, after in enumerate(targets):
        for head in after:
            if head in passed[k]:  # a jump back
                members, left = loops.setdefault(head, {head}), [k]
                while left:
                    if (block := left.pop()) not in members:
                        members.add(block)
                        left += [s for s in range(len(blocks)) if block in targets[s]]
    for head, members in loops.items():
        if not any(other in members for other in loops if other != head):
            yield [line for k in sorted(members) for line in blocks[k]]


def described(operation: str, lines: list[str], frame: str) -> Loop:
    """Return the figures of a loop. frame: a pattern of the registers that address the stack."""
    on_stack = [line for line in lines if re.search(frame, line)]
    stores = [line for line in on_stack if re.search(rf"\tv?mov.*,\s*[-\w]*\({frame}.*\)$|\tst[rp]\t", line)]
    arithmetic = sum(bool(ARITHMETIC.search(line)) for line in lines)
    vectors = sum(bool(re.search(r"%[xyz]mm|\t[qv]\d", line)) for line in on_stack)
    return Loop(operation, len(lines), arithmetic, len(on_stack) - len(stores), len(stores), vectors)


def frame_of(assembly: str) -> str:
    """Return a pattern of the registers that address the stack in a function."""
    if "%r" not in assembly:
        return r"\[(?:sp|x29)"
    return r"%r(?:sp|bp)\b" if "movq\t%rsp, %rbp" in assembly else r"%rsp\b"


def operations(processor: str) -> dict[str, tuple[Any, tuple[Any, ...]]]:
    """Return the operations of the window engine by name, each with the types of its arguments."""
    from numba import float32, int32, int64

    from w2vtrain.kernels import llvm

    if processor == "neon":
        llvm.REGISTERS = llvm.registers(NEON, llvm.LANES)
    from w2vtrain.engines import window_kernel
    from w2vtrain.kernels.rows import add_to_rows, sum_rows

    matrix, indices = float32[:, ::1], int32[::1]
    shapes = {
        "dots": (matrix, indices, int64, matrix, indices, int64, matrix),
        "update_one": (matrix, matrix, indices, int64, matrix, matrix),
        "update": (matrix, indices, int64, matrix, indices, int64, matrix),
    }
    found = {}
    for name, value in vars(window_kernel).items():
        if kind := next((kind for kind in shapes if name.startswith(kind + "_")), None):
            found[name] = value, shapes[kind]
    found["sum_rows"] = sum_rows, (matrix, matrix, indices, int64, float32)
    found["add_to_rows"] = add_to_rows, (matrix, indices, int64, matrix, float32)
    return found


def assemblies(processor: str) -> Iterator[tuple[str, str]]:
    """Yield the name and the assembly of each operation, compiled for the processor that this process was started for.

    Updates come in two forms: all from the old values, and in turn.
    """
    import llvmlite.binding as binding
    import numba

    for name, (operation, kinds) in operations(processor).items():
        for end in (", False)", ", True)") if name.startswith("update") and "one" not in name else (")",):
            parameters = ", ".join(f"x{k}" for k in range(len(kinds)))
            source = f"def call({parameters}): operation({parameters}{end}"
            scope = {"operation": operation}
            exec(source, scope)
            compiled = numba.njit(kinds, error_model="numpy", _nrt=False, no_cpython_wrapper=True)(scope["call"])
            label = name + {", True)": ", in turn"}.get(end, "")
            code = compiled.inspect_asm()[kinds]
            if processor == "neon":
                binding.initialize_all_targets()
                binding.initialize_all_asmprinters()
                machine = binding.Target.from_triple(NEON).create_target_machine(cpu="generic", features="+neon", opt=3)
                text = re.sub(r'target (triple|datalayout) = ".*"', "", compiled.inspect_llvm()[kinds])
                module = binding.parse_assembly(f'target triple = "{NEON}"\n{text}')
                code = machine.emit_assembly(module)
            yield label, code


def loops_of(processor: str) -> list[Loop]:
    """Return the inner loops with arithmetic on vectors of all operations."""
    found = [
        described(name, lines, frame_of(code)) for name, code in assemblies(processor) for lines in inner_loops(code)
    ]
    return [loop for loop in found if loop.arithmetic]


@click.command(help=__doc__)
@click.argument("processor", type=click.Choice(list(PROCESSORS)), default="host")
def show(processor: str) -> None:
    """Print the table; start again in a process of its own if Numba has to compile for another processor."""
    wanted = PROCESSORS[processor]
    if any(os.environ.get(name) != value for name, value in wanted.items()):
        code = subprocess.run([sys.executable, *sys.argv], env={**os.environ, **wanted}, check=False).returncode
        sys.exit(code)
    click.echo(f"{'operation':<22} instructions  on vectors  stack loads  stack stores  of vectors")
    for name, *figures in loops_of(processor):
        widths = (12, 11, 12, 13, 11)
        click.echo(f"{name:<22} " + " ".join(f"{n:{width}}" for n, width in zip(figures, widths, strict=True)))


if __name__ == "__main__":
    show()
