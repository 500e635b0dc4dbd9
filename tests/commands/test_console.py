"""The output of a run: a bar on a terminal, plain lines elsewhere, JSON in its log."""

import json
import re
import sys
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace

import pytest
from signaled import on_terminal

from w2vtrain.commands import console
from w2vtrain.commands.console import Console, Interval
from w2vtrain.commands.log import json_log
from w2vtrain.errors import OutputError, WriteError
from w2vtrain.training.run import Run
from w2vtrain.training.state import Epoch, Progress


def progress(words, epoch=1, loss=3.0, examples=2, seconds=0.5):
    return Progress(epoch, words, 1000, 0.05 * (1 - words / 1000), loss, examples, seconds, words / 500)


def log_to(path):
    return json_log(str(path), Run(), force=False)


def test_an_interval_is_due_once_and_averages_since_the_last_report(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(console.time, "monotonic", lambda: now[0])
    interval = Interval(5)
    interval.add(progress(1, loss=4.0, examples=1))
    interval.add(progress(2, loss=2.0, examples=2))
    assert not interval.due()
    now[0] = 105.0
    assert interval.due()
    assert not interval.due()
    assert interval.mean() == 2.0
    interval.add(progress(3, loss=1.0, examples=1))
    assert interval.mean() == 1.0


def test_plain_lines_have_all_figures_and_the_end_is_always_printed(capsys):
    run = Console(every=1000)
    run.events().training(progress(500))
    assert capsys.readouterr().err == ""
    run.events().training(progress(1000, epoch=2, loss=1.0))
    out, err = capsys.readouterr()
    assert out == ""
    assert re.fullmatch(r"epoch 2 100\.0%  [\d,]+ words/s  alpha 0\.00000  loss 1\.0000  \d+ MiB  ETA 0 s\n", err)


def test_quiet_prints_nothing_but_still_logs(capsys, tmp_path):
    with log_to(tmp_path / "log") as log:
        run = Console(quiet=True, every=0, log=log)
        run.say("hello")
        run.events().training(progress(250))
        first = json.loads((tmp_path / "log").read_text())  # each line is flushed
        run.events().training(progress(1000))
    assert capsys.readouterr() == ("", "")
    assert (first["event"], first["epoch"], first["words"], first["total_words"]) == ("progress", 1, 250, 1000)
    assert first["loss"] == 1.5
    assert (first["words_per_second"], first["eta"]) == (500, 1.5)
    assert len((tmp_path / "log").read_text().splitlines()) == 2


def test_a_log_that_cannot_be_created_or_written_is_an_error(tmp_path):
    with pytest.raises(OutputError, match="nowhere"), log_to(tmp_path / "nowhere" / "log"):
        pass
    if Path("/dev/full").exists():
        with pytest.raises(WriteError, match="No space left"), log_to("/dev/full") as log:
            log({"event": "progress"})


def test_log_lines_are_valid_json_for_any_content_also_on_stdout(capsys, tmp_path):
    facts = {"event": "progress", "loss": float("nan"), "outputs": ["\udcff", "é"]}
    with log_to("-") as log:
        log(facts)
    with log_to(tmp_path / "log") as log:
        log(facts)
    for line in (capsys.readouterr().out, (tmp_path / "log").read_text(encoding="utf-8")):
        assert "NaN" not in line
        assert json.loads(line).items() >= {**facts, "loss": None}.items()


TERMINAL = """
from w2vtrain.commands import console
from w2vtrain.training.state import Progress
console.BAR_SECONDS = 0
run = console.Console()
run.say("settings")
events = run.events()
events.reading(2048, None, 0)
for words, seconds in ((200, 0.2), (2000, 2.0)):
    events.training(Progress(2, words, 2000, 0.04321, 3.0, 2, seconds, words / 1000))
run.say("finished")
run.close()
"""


@pytest.mark.parametrize(
    ("columns", "facts"),
    [
        (130, r"ETA 1\.8 s, 1\.00k words/s, loss 1\.5000, alpha 0\.04321, \d+ MiB"),
        (80, r"ETA 1\.8 s, 1\.00k words/s, loss 1\.5000, alpha 0\.04321"),
        (40, r"ETA 1\.8 s"),
        (0, r"ETA 1\.8 s, 1\.00k words/s, loss 1\.5000, alpha 0\.04321"),  # it does not know its width
    ],
)
def test_a_bar_on_a_terminal_has_the_percentage_and_the_facts_that_fit(columns, facts):
    code, text = on_terminal([sys.executable, "-c", TERMINAL], columns)
    assert code == 0
    frames = text.split("\r")
    assert any(frame.startswith("reading") for frame in frames)  # before words are counted, as of a slow pipe
    bars = [frame for frame in frames if "%|" in frame]
    assert len(bars) == 2
    assert re.search(rf"^epoch 2  10%\|.{{10,}}\| {facts}$", bars[0]), bars
    assert re.search(r"^epoch 2 100%\|.{10,}\| ETA 0 s", bars[1]), bars
    assert all(len(frame) <= (columns or 80) for frame in frames)
    assert frames[-2].strip() == "finished"  # the bar is removed before the line is printed


@pytest.mark.parametrize(("interval", "advised"), [(499, True), (500, False)])
def test_a_longer_interval_is_advised_only_within_an_epoch(capsys, interval, advised):
    ranks = {"ranks": 2, "words_per_second": [7, 8], "communication": 0.9, "words_per_synchronization": interval}
    record = {
        "epochs": [asdict(Epoch(1, 3.0, 2, 1000, 1.0))], "words_per_second": 15, "seconds": {}, "peak_memory_bytes": 1,
        "vocabulary": {"words": 1000}, "distributed": {**ranks, "bytes_per_synchronization": 9},
    }  # fmt: skip
    Console().summary(SimpleNamespace(record=record, settings={"architecture": "cbow"}), "in", [], 0.0)
    said = capsys.readouterr().err
    assert "would waste less time" in said
    assert ("--sync-words" in said) == advised


def test_an_epoch_without_an_example_has_no_loss(capsys, tmp_path):
    with log_to(tmp_path / "log") as log:
        run = Console(every=0, log=log)
        run.events().training(progress(500, loss=0.0, examples=0))
        run.events().epoch(Epoch(1, None, 0, 500, 9.0), None)
    line, end = capsys.readouterr().err.splitlines()
    assert re.search(r"  no example  \d+ MiB  ETA", line)
    assert end == "epoch 1 done, 9.0 s: no example"
    assert [json.loads(line)["loss"] for line in (tmp_path / "log").read_text().splitlines()] == [None, None]
