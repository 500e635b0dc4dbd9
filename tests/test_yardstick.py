"""The figures of the comparison of objectives: interpolated times, the best runs, and the command that measures."""

import importlib.util
import json
import math
from pathlib import Path

import objective_runs
import pytest

ROOT = Path(__file__).parent.parent


def load(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / f"docs/{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


yardstick = load("yardstick")
fronts = load("fronts")


def run(name, seed, cpu, perplexity, words=1000):
    """Return a run that trained `words` words in `cpu` CPU seconds, and half as many seconds on two threads."""
    return {
        "job": {
            "name": f"{name} seed {seed}", "sources": ["corpus.txt"],
            "settings": {"alpha": 0.1, "seed": seed, "weight_decay": 0.0},
        },
        "words_per_second": 2 * words / cpu, "words_per_cpu_second": words / cpu, "seconds": {"training": cpu / 2},
        "vocabulary": 50, "corpus_words": 500, "width": 10, "output_parameters": 250, "peak_memory_bytes": 1 << 20,
        "test": {"perplexity": perplexity, "unnormalized": 1.1 * perplexity, "log_z_mean": 0.0, "log_z_variance": 0.1},
        "scoring": {"per_second": 10.0, "ratios": [2.0, 3.0, 4.0], "same": False}, "scores": {},
    }  # fmt: skip


def cells(table):
    """Return the cells of each line of a table in Markdown."""
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]


def test_the_time_to_a_perplexity_is_interpolated_between_runs():
    points = [(1.0, 200.0), (4.0, 100.0), (9.0, 90.0)]
    assert yardstick.seconds_to(points, 200.0) == 1.0
    assert yardstick.seconds_to(points, 100.0) == pytest.approx(4.0)
    assert yardstick.seconds_to(points, math.sqrt(200 * 100)) == pytest.approx(2.0)
    assert yardstick.seconds_to(points, 80.0) is None
    assert yardstick.seconds_to([], 80.0) is None


def test_times_to_equal_perplexity_are_compared_with_the_softmax():
    results = [run(f"softmax(epochs={n})", seed, 10.0 * n, 200 - 10 * n) for n in (1, 2, 4, 8) for seed in (1, 2)]
    results += [run(f"nce(negative=5, epochs={n})", seed, seed * n, 200 - 25 * n) for n in (1, 2) for seed in (1, 2)]
    figures = yardstick.Figures({"ptb": results})
    assert [figures[f"ptb|softmax|to {n}"] for n in (1, 2, 4, 8)] == ["10 s", "20 s", "40 s", "80 s"]
    nce = {n: figures[f"ptb|nce(negative=5)|to {n}"] for n in (1, 2, 4, 8)}
    assert nce[1] == "at most 1.5 (1-2) s (at least 6.67x)"  # the shortest run is better: 175 instead of 190
    assert nce[4] == "2.24 (1.5-2.99) s (17.8x)"  # 2 ** (log(175 / 160) / log(175 / 150)) = 1.496
    assert nce[8] == "-"


def test_complete_runs_are_listed_by_objective_and_number_of_epochs():
    results = [
        run(f"nce(negative=5, epochs={n})", seed, 2.0 * n, 200 - 10 * n + seed) for n in (2, 1) for seed in (1, 3)
    ]
    results += [run("hs(epochs=2)", 1, 1.0, 220.0)]
    head, _, nce, hs = cells(yardstick.by_epochs(results))
    assert head == ["objective", "1 epoch", "2 epochs"]
    assert nce == ["`nce(negative=5)`", "192.0 (191.0-193.0), 2 s", "182.0 (181.0-183.0), 4 s"]
    assert hs == ["`hs`", "", "220.0, 1 s"]


def test_validation_text_chooses_among_epochs_where_its_score_is_kept():
    results = [{**run("hs(epochs=1)", 1, 1.0, 100.0), "validation": 90.0}]
    results += [{**run("hs(epochs=2)", 1, 2.0, 110.0), "validation": 80.0}]
    assert [r["test"]["perplexity"] for r in yardstick.best(results)] == [110.0]


def test_the_perplexity_of_validation_text_is_kept_unless_there_is_a_time_limit():
    result = run("hs(epochs=2)", 1, 2.0, 110.0)
    result["curve"] = [{"seconds": at, "perplexity": value} for at, value in ((1.0, None), (2.0, 80.0), (3.0, 85.0))]
    result["job"]["settings"] |= {"epochs": 3, "seconds": None, "threads": 1}
    assert objective_runs.condensed(result)["validation"] == 80.0
    result["job"]["settings"]["seconds"] = 3.0
    assert "validation" not in objective_runs.condensed(result)


def test_the_best_run_of_an_objective_is_kept():
    results = [run(f"nce(epochs={n}, negative=5)", seed, 1.0, 100 + n) for n in (4, 2, 8) for seed in (1, 2)]
    kept = yardstick.best(results)
    assert [r["job"]["name"] for r in kept] == ["nce(negative=5) seed 1", "nce(negative=5) seed 2"]
    assert {r["test"]["perplexity"] for r in kept} == {102}
    assert cells(yardstick.results_table(kept))[2][:2] == ["`nce(negative=5)`", "2"]


def test_a_figure_of_the_text_has_its_range():
    figures = yardstick.Figures({"ptb": [run("softmax", 1, 10, 150.0), run("softmax", 2, 10, 152.0)]})
    assert f"{figures['ptb|softmax|perplexity']}" == "151.0 (150.0-152.0)"
    assert f"{figures['ptb|softmax|without_z']}" == "10.0%"
    assert f"{figures['ptb|nce|perplexity']} {figures['x|nce|training']}" == "not measured not measured"
    with pytest.raises(KeyError):
        figures["ptb|softmax|weight"]


def test_a_gap_is_relative_to_the_softmax_with_as_many_epochs():
    ptb = [run(f"softmax(epochs={n})", seed, 10, 400 / n) for n in (1, 2) for seed in (1, 2)]
    ptb += [run("nce(epochs=1)", 1, 1, 420.0), run("hs(epochs=2)", 1, 1, 220.0), run("is", 1, 1, 190.0)]
    figures = yardstick.Figures({"ptb": ptb, "enwiki": [run("softmax", 1, 1, 100.0), run("hs", 1, 1, 75.0)]})
    found = [figures[f"{key}|gap"] for key in ("ptb|nce(epochs=1)", "ptb|hs(epochs=2)", "ptb|is", "enwiki|hs")]
    assert found == ["+5.0%", "+10.0%", "-5.0%", "-25.0%"]
    assert figures["allwords|hs|gap"] == figures["ptb|lsh|gap"] == "not measured"


def test_measuring_runs_the_commands_of_the_page_and_keeps_what_it_needs(tmp_path, monkeypatch):
    result = {**run("softmax", 1, 3.0, 123.456789), "epochs": [{"words": 3}], "versions": {}}
    result["job"]["settings"] |= {"epochs": 2, "seconds": None, "threads": 2, "window": 5}
    for name in ("docs", "configs", "data", "texts"):
        (tmp_path / name).mkdir()
    for part in ("train", "valid", "test"):
        (tmp_path / f"texts/ptb.{part}.txt").write_text("a b\n")
    (tmp_path / "texts/wiki.txt").write_text("one two three\n" * 50_000)
    (tmp_path / "results.json").write_text(json.dumps([result]))
    (tmp_path / "docs/_measurements.md").write_text(
        "```sh\n# takes 1 second\ntest -s enwiki.txt -a -s ptb.valid.txt\nmkdir -p one\n"
        "cp ../../results.json one/compare.json\ntouch one/curves.png\n```\n\n```sh\nfalse\n```\n"
    )
    monkeypatch.setattr(objective_runs, "ROOT", tmp_path)
    monkeypatch.setattr(objective_runs, "MEASURED", tmp_path / "docs/measured")
    for _ in range(2):  # the second time, everything is there
        objective_runs.measure_page(*(str(tmp_path / "texts" / name) for name in ("", "wiki.txt", "wiki.txt")))
    (line,) = (tmp_path / "docs/measured/one.jsonl").read_text().splitlines()
    kept = json.loads(line)
    assert kept["test"]["perplexity"] == 123.457
    assert "epochs" not in kept
    assert kept["job"]["settings"] == {
        "alpha": 0.1, "seed": 1, "epochs": 2, "seconds": None, "threads": 2, "weight_decay": 0.0,
    }  # fmt: skip
    texts = [(tmp_path / "build/objectives" / f"enwiki{part}.txt").read_text() for part in ("", ".curve", ".end")]
    assert "".join(texts) == "one two three\n" * 50_000
    assert [len(text) // 10_000 for text in texts[1:]] == [3, 30]
    machines = tmp_path / "docs/measured/machines.json"
    assert json.loads(machines.read_text())["one"]["cores"] >= 1
    machines.write_text(json.dumps({"one": {"cores": 99}}))
    objective_runs.keep(tmp_path / "build/objectives")
    assert json.loads(machines.read_text()) == {"one": {"cores": 99}}, "what was measured before keeps its machine"


def test_another_text_is_compared_by_the_command_for_german(tmp_path, monkeypatch, capsys):
    results = [run("softmax", 1, 90.0, 100.0), run("hs", 1, 1.0, 120.0)]
    for result in results:
        result["job"]["settings"] |= {"epochs": 2, "seconds": None, "threads": 1}
    for name in ("docs", "configs"):
        (tmp_path / name).mkdir()
    (tmp_path / "results.json").write_text(json.dumps(results))
    (tmp_path / "letters.txt").write_text("one two three\n" * 50_000)
    (tmp_path / "docs/_measurements.md").write_text(
        "```sh\n# takes 1 second\nfalse -o enwiki --objectives neg\n```\n\n```sh\n# takes 1 second\n"
        "test -s german.end.txt -a -s german.curve.txt -a -d configs || exit 9  # -o german --objectives\n"
        "echo --weight-decay 0.5 > said\n"
        "mkdir german\ncp ../../../results.json german/compare.json\n```\n"
    )
    monkeypatch.setattr(objective_runs, "ROOT", tmp_path)
    monkeypatch.setattr(objective_runs, "MEASURED", tmp_path / "docs/measured")
    objective_runs.measure_other(tmp_path / "letters.txt")
    said = capsys.readouterr().out
    assert "| `hs` " in said
    assert not (tmp_path / "docs/measured").exists()
    (text,) = (tmp_path / "build/objectives").glob("letters-*/said")
    assert text.read_text() == "--weight-decay 1.5e-05\n", "that for a text of 150,000 words"


def test_the_table_has_differences_from_the_best_if_the_test_text_was_scored_in_parts():
    results = [run("softmax", 1, 1.0, 100.0), run("hs", 1, 1.0, 120.0)]
    head = cells(yardstick.results_table(results))[0]
    assert "above best" not in head
    for result, loss in zip(results, (460.0, 480.0), strict=True):
        result["test"]["parts"] = [[100, loss]] * 10
    head, _, softmax, hs = cells(yardstick.results_table(results))
    place = head.index("above best")
    assert (softmax[place], hs[place]) == ("best", "+22.1% ± 0.0%")


@pytest.mark.parametrize("page", ["objectives", "measurements"])
def test_the_text_of_a_page_has_all_its_figures(page):
    """A placeholder that names no run would become "not measured"."""
    assert "not measured" not in (ROOT / f"docs/{page}.md").read_text(encoding="utf-8")


def test_a_run_is_on_the_front_if_no_quicker_one_is_as_good():
    runs = [(8.0, 100), (1.0, 200), (2.0, 250), (4.0, 120), (4.0, 110), (9.0, 100)]
    points = [fronts.Point("hs", *run) for run in runs]
    assert [point[1:] for point in fronts.front(points, is_score=False)] == [(1, 200), (4, 110), (8, 100)]
    assert [point[1:] for point in fronts.front(points, is_score=True)] == [(1, 200), (2, 250)]


@pytest.mark.parametrize("panel", fronts.PANELS, ids=lambda panel: panel.file)
def test_a_picture_names_at_most_five_objectives(panel, tmp_path):
    points = fronts.points_of(panel, yardstick.studies())
    named = {point.objective for point in fronts.front(points, panel.is_score)} | set(panel.also)
    assert 1 <= len(named) <= 5
    assert set(panel.also) <= {point.objective for point in points}
    fronts.draw(panel, points, tmp_path / "front.png")
    assert (tmp_path / "front.png").stat().st_size > 20_000


def test_words_that_belong_together_are_joined_from_left_to_right():
    found = objective_runs.phrases("new york is big\n" * 2 + "is x\n" * 100 + "york new\n")
    assert found == {("new", "york")}, "a pair must occur twice, and more often than its words make likely"
    assert objective_runs.joined(["new", "york", "new", "york", "is", "new"], found) == "new_york new_york is new"
    assert objective_runs.joined(["a", "b", "c", "d"], {("a", "b"), ("b", "c")}) == "a_b c d"
    assert objective_runs.joined([], found) == ""
