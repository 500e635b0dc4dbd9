"""The figures of docs/objectives.md: interpolated times, the best runs, and the command that measures."""

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
    head, _, softmax, nce = cells(yardstick.equal_perplexity(results))
    assert [cell.endswith((" epoch)", " epochs)")) for cell in head] == [False, True, True, True, True, False]
    assert softmax[1:] == ["10 s", "20 s", "40 s", "80 s", "120.0"]
    assert nce[0] == "`nce(negative=5)`"
    assert nce[1] == "at most 1.5 (1-2) s (at least 6.67x)"  # the shortest run is better: 175 instead of 190
    assert nce[3] == "2.24 (1.5-2.99) s (17.8x)"  # 2 ** (log(175 / 160) / log(175 / 150)) = 1.496
    assert nce[4:] == ["-", "150.0"]
    assert yardstick.Figures({"ptb": results})["ptb|nce(negative=5)|to 4"] == nce[3]


def test_budgets_are_drawn_as_one_curve_per_objective(tmp_path, monkeypatch):
    results = [run(f"nce(epochs={n})", seed, seed * n, 200 / n) for n in (1, 4) for seed in (1, 2)]
    results += [run("neg(alpha=0.05, epochs=8)", seed, 1.0, 5000.0) for seed in (1, 2)]
    drawn = []
    draw = yardstick.draw
    monkeypatch.setattr(yardstick, "draw", lambda found, *rest: drawn.extend(found) or draw(found, *rest))
    yardstick.picture(results, "Text", tmp_path / "ptb.png")
    assert drawn == [("nce", [1.5, 6.0], [200.0, 50.0])]
    assert (tmp_path / "ptb.png").read_bytes().startswith(b"\x89PNG")


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


def test_every_run_of_a_study_is_listed_with_the_text_that_chooses():
    results = [{**run("hs(epochs=1)", seed, 1.5, 100.0 + seed), "validation": 90.0} for seed in (1, 2)]
    results += [{**run("nce(epochs=1)", 1, 1.0, 1.0), "failed": "training diverged in epoch 1: the loss is NaN"}]
    del results[-1]["test"]
    _, _, hs, nce = cells(yardstick.every_run(results))
    assert hs[:5] == ["`hs(epochs=1)`", "0.1", "1.5", "90.0", "101.5 (101.0-102.0)"]
    assert nce[:2] == ["`nce(epochs=1)`", "training diverged in epoch 1"]
    assert yardstick.Figures({"ptb": results})["ptb|nce(epochs=1)|perplexity"] == "diverged"


def test_the_best_run_of_an_objective_is_kept():
    results = [run(f"nce(epochs={n}, negative=5)", seed, 1.0, 100 + n) for n in (4, 2, 8) for seed in (1, 2)]
    kept = yardstick.best(results)
    assert [r["job"]["name"] for r in kept] == ["nce(negative=5) seed 1", "nce(negative=5) seed 2"]
    assert {r["test"]["perplexity"] for r in kept} == {102}
    assert cells(yardstick.speeds(kept))[2][:3] == ["`nce(negative=5)`", "0.1", "2"]


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


SURVEY = """
softmax                 | 1x             |      | very good | very poor   | 100%
hs                      | 25x (50-100x)  | T    | very poor | very good   | 100%
dsoftmax                | 2x             | T, S | very good | very good   | < 100%
cnn-softmax             |                | T    |           | bad to good | 30%
is                      | (19x)          | T    |           |             | 100%
adaptive-is             | (100x)         | T    |           |             | 100%
target                  | 2x             | T    | good      | bad         | 100%
nce(negative=25)        | 8x (45x)       | T    | very bad  | very bad    | 100%
neg(alpha=0.05)         | (50-100x)      | T    |           |             | 100%
selfnorm                | (15x)          | T    |           |             | 100%
infrequent-norm         | 6x (10x)       | T    | very good | good        | 100%
"""
"""Table 1 of Ruder 2016: speed-up, gain in training and testing (scoring), verdicts, parameters; our names."""


def test_the_survey_is_quoted_as_its_table_has_it():
    rows = [[cell.strip() for cell in line.split("|")] for line in SURVEY.strip().splitlines()]
    claims = {claim.wiki: claim for claim in yardstick.published.CLAIMS}
    for name, faster, gain, small, large, parameters in rows:
        claim = claims.pop(name)
        assert (claim.faster, claim.gain) == (faster, gain), name
        assert (claim.small, claim.large, claim.parameters) == (small, large, parameters), name
    others = [claim for claim in claims.values() if claim.gain or claim.small or claim.large or claim.parameters]
    assert not others, "not in the survey"


def test_published_figures_stand_beside_the_runs_that_they_belong_to():
    ptb = [run(name, 1, cpu, 100 / cpu) for name, cpu in (("softmax(epochs=2)", 8), ("dsoftmax(epochs=2)", 4))]
    enwiki = [run("softmax", 1, 8, 100.0), run("dsoftmax", 1, 2, 70.0)]
    figures = yardstick.Figures({"ptb": ptb, "enwiki": enwiki})
    speeds, verdicts = (cells(yardstick.published.speeds(figures)), cells(yardstick.published.verdicts(figures)))
    ours = {row[0]: row[1:] for row in speeds[2:]}["`dsoftmax`"]
    assert ours == ["2x", "T, S", "2x", "4x", "", "3x", "3x", "< 100%", "50%"]
    ours = {row[0]: row[1:] for row in verdicts[2:]}["`dsoftmax`"]
    assert ours == ["very good", "-2.2%", "+100.0%", "very good", "-15.8%", "-30.0%", "", ""]


def test_every_placeholder_of_the_page_has_a_meaning(monkeypatch, tmp_path):
    template = (ROOT / "docs/_objectives.md").read_text(encoding="utf-8")
    monkeypatch.setattr(yardstick, "MEASURED", tmp_path)
    assert not yardstick.is_complete()
    page = template.format(**yardstick.parts(), advice="ADVICE")
    assert "ADVICE" in page
    assert "not measured" in page
    folders = [command.split(" -o ")[-1].split()[0] for command in objective_runs.commands()]
    assert sorted(folders) == sorted(yardstick.STUDIES)
    for study in yardstick.STUDIES:
        (tmp_path / f"{study}.jsonl").write_text("")
    assert yardstick.is_complete()


def test_measuring_runs_the_commands_of_the_page_and_keeps_what_it_needs(tmp_path, monkeypatch):
    result = {**run("softmax", 1, 3.0, 123.456789), "epochs": [{"words": 3}], "versions": {}}
    result["job"]["settings"] |= {"epochs": 2, "seconds": None, "threads": 2, "window": 5}
    for name in ("docs", "configs", "data", "texts"):
        (tmp_path / name).mkdir()
    for part in ("train", "valid", "test"):
        (tmp_path / f"texts/ptb.{part}.txt").write_text("a b\n")
    (tmp_path / "texts/wiki.txt").write_text("one two three\n" * 50_000)
    (tmp_path / "results.json").write_text(json.dumps([result]))
    (tmp_path / "docs/_objectives.md").write_text(
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
    (tmp_path / "docs/_objectives.md").write_text(
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
    assert "letters" in said.split("text    within")[1]
    assert not (tmp_path / "docs/measured").exists()
    (text,) = (tmp_path / "build/objectives").glob("letters-*/said")
    assert text.read_text() == "--weight-decay 1.5e-05\n", "that for a text of 150,000 words"


def test_studies_of_another_machine_are_named(tmp_path, monkeypatch):
    monkeypatch.setattr(yardstick, "MEASURED", tmp_path)
    one, other = ({"cores": 2, "processor": name, "blas": "b", "date": "d"} for name in ("X", "Y"))
    (tmp_path / "machines.json").write_text(json.dumps({"a": other, "b": one, "c": one}))
    assert yardstick.machine() == "2 cores of X (b, d); 2 cores of Y (b, d), for a"


def test_the_table_has_differences_from_the_best_if_the_test_text_was_scored_in_parts():
    results = [run("softmax", 1, 1.0, 100.0), run("hs", 1, 1.0, 120.0)]
    head = cells(yardstick.speeds(results))[0]
    assert "above best" not in head
    for result, loss in zip(results, (460.0, 480.0), strict=True):
        result["test"]["parts"] = [[100, loss]] * 10
    head, _, softmax, hs = cells(yardstick.speeds(results))
    place = head.index("above best")
    assert (softmax[place], hs[place]) == ("best", "+22.1% ± 0.0%")


def test_seeds_trained_at_different_rates_are_told():
    results = [run("is", 1, 1.0, 100.0), run("is", 2, 1.0, 110.0)]
    results[1]["job"]["settings"]["alpha"] = 0.05
    assert cells(yardstick.speeds(results))[2][1] == "0.05, 0.1"


def test_the_text_of_the_page_has_all_its_figures():
    """A placeholder that names no run would become "not measured"."""
    lines = (ROOT / "docs/objectives.md").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if "not measured" in line and not line.startswith("|")] == []


def test_words_that_belong_together_are_joined_from_left_to_right():
    found = objective_runs.phrases("new york is big\n" * 2 + "is x\n" * 100 + "york new\n")
    assert found == {("new", "york")}, "a pair must occur twice, and more often than its words make likely"
    assert objective_runs.joined(["new", "york", "new", "york", "is", "new"], found) == "new_york new_york is new"
    assert objective_runs.joined(["a", "b", "c", "d"], {("a", "b"), ("b", "c")}) == "a_b c d"
    assert objective_runs.joined([], found) == ""


def test_the_repetition_names_the_objectives_that_differ(tmp_path, monkeypatch):
    def result(name, perplexity, alpha=0.1):
        return {"job": {"name": name, "settings": {"alpha": alpha}}, "test": {"perplexity": perplexity}}

    runs = {f"{name} seed 1": {"alpha": 0.1, "perplexity": 100.0} for name in ("hs", "char-softmax(cell=lstm)", "nce")}
    kept = {"study": "x", "processor": "a processor", "date": "a day", "runs": runs}
    (tmp_path / "repeated.json").write_text(json.dumps(kept))
    monkeypatch.setattr(yardstick, "MEASURED", tmp_path)
    now = [result("hs seed 1", 100.001), result("char-softmax(cell=lstm) seed 1", 98), result("nce seed 1", 50, 0.2)]
    assert yardstick.repetition({"x": now}) == (
        "Of 2 runs that had the same rate on a processor (a day), 1 had the same perplexity there, within 0.01%. The"
        " largest differences of the others are: `char-softmax` 2.0%"
    )
