"""benchmarks/sweep.py: the table, the picture and the JSON of one setting at a time."""

import json

import pytest
import sweep
from click.testing import CliRunner
from limits import Limits

from w2vtrain.errors import ConfigError, UsageError


def in_this_process(function, arguments, folder):
    """Run a job in this process; another test covers separate processes."""
    return function(*arguments)


@pytest.mark.slow
def test_a_sweep_prints_a_table_and_draws_a_picture(corpus, tmp_path, monkeypatch):
    monkeypatch.setattr("w2vtrain.evaluation.measure.run_child", in_this_process)
    monkeypatch.setattr(sweep, "AXES", {"vector_size": (16, 48), "max_vocab": (5, 20), "threads": (1,)})
    monkeypatch.setattr(sweep, "measure_limits", lambda: Limits(1e11, 1e10, 1e10))
    words = [corpus, tmp_path / "sweep.png", "--json", tmp_path / "found.json", "--seeds", 2, "--architecture", "vlbl"]
    done = CliRunner().invoke(sweep.main, list(map(str, words)), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    rows = [line.split("|")[1:3] for line in done.stdout.splitlines()[-5:]]
    assert [[cell.strip() for cell in row] for row in rows] == [
        ["dimensions", "16"], ["dimensions", "48"], ["vocabulary size", "5"], ["vocabulary size", "20"],
        ["threads", "1"],
    ]  # fmt: skip
    assert (tmp_path / "sweep.png").read_bytes().startswith(b"\x89PNG")
    jobs = [m["job"] for m in json.loads((tmp_path / "found.json").read_text())["measurements"]]
    assert {j["architecture"] for j in jobs} == {"vlbl"}
    assert [(j["vector_size"], j["max_vocab"], j["seed"]) for j in jobs[:6]] == [
        (16, None, 1), (16, None, 2), (48, None, 1), (48, None, 2), (200, 5, 1), (200, 5, 2),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "message"),
    [("plot.table", "plot.table has none of the suffixes of pictures"), ("corpus.txt", "is both input and output")],
)
def test_a_wrong_picture_is_refused_before_anything_is_measured(corpus, monkeypatch, name, message):
    monkeypatch.chdir(corpus.parent)
    with pytest.raises((ConfigError, UsageError), match=message):
        CliRunner().invoke(sweep.main, [str(corpus), name], catch_exceptions=False)
