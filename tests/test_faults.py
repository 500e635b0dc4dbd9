"""w2vtrain on every fault of fault_table.py, judged by the same rule as gensim and fastText; and tests of that rule."""

import re
import sys
from functools import partial
from pathlib import Path

import fault_table
import faults
import pytest
from fault_drive import Case, Run, load, once
from fault_table import FAULTS, Fault
from faults import FASTTEXT, GENSIM, OURS, judge, run
from signaled import signaled

from w2vtrain import cli

ROOT = Path(__file__).parent.parent
ALL = [fault for faults in FAULTS.values() for fault in faults]
LONG = next(fault for fault in ALL if fault.memory)


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """Let a process run for 10 minutes before it counts as hanging, because the machine may be busy."""
    monkeypatch.setattr(faults, "Case", partial(Case, seconds=600.0))


@pytest.mark.parametrize("fault", [f for f in ALL if not f.tested and f is not LONG], ids=lambda fault: fault.name)
def test_w2vtrain_survives(fault, monkeypatch, capsys):
    """Run w2vtrain in this process unless the fault needs a separate one."""

    def here(case, command):
        monkeypatch.chdir(case.folder)
        monkeypatch.setattr(sys, "argv", command[2:])
        with pytest.raises(SystemExit) as end:
            cli.main()
        monkeypatch.chdir(ROOT)
        return Run(end.value.code, capsys.readouterr().err)

    def stopped(case, command, limits=None, folder=None):
        stops = signaled([*command, "--epochs", "3", "--checkpoint-every", "0"], "3:SIGTERM")
        return start(case, stops if command == case.train else command, limits, folder)

    start = Case.start
    if fault.drive in (once, load) or fault.name == "named pipe":
        monkeypatch.setattr(Case, "run", here)
    if fault.states:  # stop at a known slice, with two checkpoints, so that the test does not depend on timing
        monkeypatch.setattr(Case, "start", stopped)
    verdict, runs = run(OURS, fault)
    assert verdict.survived, (verdict.text, runs)


@pytest.mark.parametrize("size", [4 << 20, pytest.param(64 << 20, marks=pytest.mark.slow)])
def test_w2vtrain_survives_a_long_line(size, monkeypatch):
    monkeypatch.setattr(fault_table, "LINE", size)
    verdict, runs = run(OURS, LONG)
    assert verdict.survived, (verdict.text, runs)


def test_every_test_that_the_table_names_exists():
    for fault in ALL:
        if fault.tested:
            file, _, name = fault.tested.partition("::")
            assert f"def {name}(" in (ROOT / "tests" / file).read_text(), fault.name


REFUSED = Fault("", 65, "at byte 3", early=True)
TRAINED = Fault("", 0, "output ", words=frozenset([b"a", b"b"]), may=frozenset([b"c"]), memory=100, refused=False)
RAISED = "Traceback (most recent call last):\n  File 'x', line 1, in <module>\n"


@pytest.mark.parametrize(
    ("system", "fault", "last", "files", "verdict"),
    [
        (OURS, REFUSED, Run(65, "reading\nw2vtrain: error: at byte 3"), {}, 'ok: 65, "at byte 3"'),
        (OURS, REFUSED, Run(65, "w2vtrain: error: bad"), {}, "!exit code 65, but says"),
        (OURS, REFUSED, Run(66, "w2vtrain: error: at byte 3"), {}, "!exit code 66"),
        (OURS, REFUSED, Run(65, "Traceback\nw2vtrain: error: at byte 3"), {}, "!exit code 65"),
        (OURS, REFUSED, Run(65, "w2vtrain: error: at byte 3\nmore"), {}, "!the last line"),
        (OURS, REFUSED, Run(65, "epoch 3\nw2vtrain: error: at byte 3"), {}, "!only after training"),
        (OURS, REFUSED, Run(65, "w2vtrain: error: at byte 3"), {"out.txt": b""}, "!partial output file"),
        (OURS, REFUSED, Run(None, ""), {}, "!hangs"),
        (OURS, TRAINED, Run(0, "output x", 10), {"out.txt": b"2 1\na 1\nb 2\n"}, "ok: 0"),
        (OURS, TRAINED, Run(0, "", 10), {"out.txt": b"2 1\na 1\nb 2\n"}, "!exit code 0"),
        (OURS, TRAINED, Run(0, "output x", 101), {"out.txt": b"2 1\na 1\nb 2\n"}, "!peak memory"),
        (GENSIM, TRAINED, Run(0, "", 10), {"out.txt": b"3 1\na 1\nb 2\nc 1\n"}, "ok"),
        (GENSIM, TRAINED, Run(0, "", 10), {"out.txt": b"3 1\na 1\nb 2\nd 1\n"}, "!vocabulary has 'd'"),
        (GENSIM, TRAINED, Run(0, "", 10), {"out.txt": b"1 1\na 1\n"}, "!vocabulary lacks 'b'"),
        (FASTTEXT, TRAINED, Run(0, "", 10), {"words.txt": b"a\n</s>\nb\n"}, "ok"),
        (GENSIM, REFUSED, Run(0, ""), {}, "!silent"),
        (GENSIM, REFUSED, Run(0, "WARNING:gensim:odd"), {}, "!only a warning"),
        (GENSIM, REFUSED, Run(-11, ""), {}, "!crash (SIGSEGV)"),
        (GENSIM, REFUSED, Run(1, RAISED + "x.OddError: what?"), {}, "!traceback: x.OddError: what?"),
        (GENSIM, REFUSED, Run(1, RAISED + "x.OddError: in corpus.txt"), {}, "ok: OddError names corpus.txt"),
        (GENSIM, REFUSED, Run(1, "EPOCH 1: training on\nE: corpus.txt"), {}, "!only after training"),
        (GENSIM, REFUSED, Run(1, "E: corpus.txt"), {"out.txt": b"half"}, "!partial output file"),
    ],
)
def test_the_rule_judges_exit_code_message_and_files(system, fault, last, files, verdict, tmp_path):
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    found = judge(system, fault, system.case(fault, tmp_path), [last])
    assert found.survived == (not verdict.startswith("!"))
    assert found.text.startswith(verdict.lstrip("!"))


def test_the_reliability_page_shows_this_table():
    rows = re.findall(r"^\| (.*) \|$", (ROOT / "docs/reliability.md").read_text(encoding="utf-8"), re.M)
    cells = [row.split(" | ") for row in rows]
    shown = {row[0]: row[1] for row in cells if len(row) == 4}
    assert [fault.name for fault in ALL if fault.name in shown] == [fault.name for fault in ALL]
    for fault in ALL:
        assert shown[fault.name].startswith(f"ok: {fault.code}"), fault.name
    assert shown["**survived**"] == f"{len(ALL)} of {len(ALL)}"
