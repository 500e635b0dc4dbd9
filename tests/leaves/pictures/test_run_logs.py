"""Curves of runs: read from every file that fit writes, and refused from what is none of these."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import w2vtrain
from w2vtrain.errors import DataError, InputMissing
from w2vtrain.leaves.pictures import run_logs
from w2vtrain.leaves.pictures.curves import PANELS, curves_figure
from w2vtrain.leaves.pictures.figures import COLORS, svg_image
from w2vtrain.leaves.pictures.run_logs import read_run

FIRST = {"event": "start", "run": "1", "settings": {"epochs": 2, "alpha": 0.05, "min_alpha": 0.0, "seconds": None}}


def progress(words, loss, alpha, speed=1000):
    return {
        "event": "progress", "epoch": 1, "epochs": words / 1000, "words": words, "total_words": 2000,
        "words_per_second": speed, "alpha": alpha, "loss": loss, "eta": 0.0,
    }  # fmt: skip


def epoch(number, loss, seconds=1.0, **facts):
    return {"event": "epoch", "epoch": number, "loss": loss, "words": 1000, "seconds": seconds, **facts}


def written(path, *events, end="\n"):
    path.write_text("\n".join(map(json.dumps, events)) + end, encoding="utf-8")
    return path


def values(curve):
    return [value for _, value in curve]


def test_a_log_of_epochs(tmp_path):
    scored = {"heldout": {"perplexity": 300.0}}
    log = written(tmp_path / "log", FIRST, epoch(1, 3.0, 2.0, **scored), progress(2000, 2.5, 0.0), epoch(2, 2.6, 0.5))
    log.write_bytes(b"\xef\xbb\xbf" + log.read_bytes())
    run = read_run(log)
    assert values(run.loss) == [3.0, 2.6]
    assert values(run.perplexity) == [300.0]
    assert values(run.speed) == [500, 2000]  # 1,000 words per epoch
    assert [(at.epochs, at.words, at.seconds) for at, _ in run.loss] == [(1, 1000, 2.0), (2, 2000, 2.5)]
    assert values(run.rate) == [0.05, 0.025, 0.0]  # between reports, the rate falls evenly


def test_a_log_with_more_reports_than_epochs_has_a_point_for_each(tmp_path):
    reports = [progress(500, 3.5, 0.04), progress(1000, 3.0, 0.03, 800), progress(1500, None, 0.02, 900)]
    run = read_run(written(tmp_path / "log", FIRST, *reports, epoch(1, 3.2)))
    assert values(run.loss) == [3.5, 3.0]
    assert values(run.rate) == [0.05, 0.04, 0.03, 0.02]
    assert [at.epochs for at, _ in run.rate] == [0, 0.5, 1, 1.5]
    assert values(run.speed) == pytest.approx([1000, 500 / (1000 / 800 - 0.5), 500 / (1500 / 900 - 1000 / 800)])


def test_a_run_that_a_time_limit_ends_has_the_epochs_that_it_trained(tmp_path):
    """Progress is in words of the part that there is time for, and the last epoch has fewer words."""
    first = {"event": "start", "settings": {**FIRST["settings"], "epochs": 1000, "seconds": 2.0}}
    run = read_run(written(tmp_path / "log", first, progress(500, 3.0, 0.04), progress(740, 2.5, 0.01)))
    assert [at.epochs for at, _ in run.loss] == [0.5, 0.74]
    run = read_run(written(tmp_path / "log", first, epoch(1, 3.0), {**epoch(3, 2.5), "words": 740}))
    assert [at.words for at, _ in run.loss] == [1000, 2740]


def test_the_last_report_is_no_speed_if_it_follows_at_once(tmp_path):
    reports = [progress(500, 3.5, 0.04), progress(1000, 3.0, 0.03), progress(1010, 2.9, 0.02, 1009)]
    run = read_run(written(tmp_path / "log", FIRST, *reports))
    assert values(run.speed) == [1000, 1000]
    assert values(run.loss) == [3.5, 3.0, 2.9]


def test_a_resumed_run_has_one_curve(tmp_path):
    """What came after the checkpoint is learned and logged again."""
    events = [FIRST, *(progress(w, 3.0, 0.05) for w in (400, 800)), *(progress(w, 2.0, 0.04) for w in (600, 1200))]
    run = read_run(written(tmp_path / "log", *events, epoch(1, 9.0), epoch(1, 2.0)))
    assert [at.words for at, _ in run.loss] == [400, 600, 1200]
    assert values(run.loss) == [3.0, 2.0, 2.0]
    again = read_run(written(tmp_path / "log", FIRST, epoch(1, 9.0), epoch(2, 8.0), FIRST, epoch(1, 2.0)))
    assert values(again.loss) == [2.0]


def test_a_log_that_is_too_large_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(run_logs, "MAX_LOG_BYTES", 1000)
    with pytest.raises(DataError, match=r"log:\d+: more than 1,000 bytes"):
        read_run(written(tmp_path / "log", FIRST, *(epoch(i, 3.0) for i in range(1, 40))))


def test_an_incomplete_last_line_is_left_out_and_any_other_is_an_error(tmp_path):
    log = written(tmp_path / "log", FIRST, epoch(1, 3.0), end='\n{"event": "epo')
    assert values(read_run(log).loss) == [3.0]
    log.write_text(log.read_text() + "\n")
    with pytest.raises(DataError, match=r"log:3: not JSON"):
        read_run(log)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Return a folder with a model of two epochs, and the record of its run."""
    folder = tmp_path_factory.mktemp("trained")
    model = w2vtrain.train([["a", "b", "c", "d"] * 5] * 60, vector_size=4, min_count=1, epochs=2, threads=1, sample=0)
    model.save(folder / "m.safetensors")
    facts = {"run": "1", "settings": model.settings, "record": model.record}
    (folder / "v.txt.json").write_text(json.dumps(facts, indent=2), encoding="utf-8")
    return folder


def test_a_model_and_a_record_have_the_same_curves(trained):
    model, record = read_run(trained / "m.safetensors"), read_run(trained / "v.txt.json")
    assert len(model.loss) == len(model.speed) == 2
    assert [getattr(model, name) for name in PANELS] == [getattr(record, name) for name in PANELS]
    kept = json.loads((trained / "v.txt.json").read_text())["record"]["epochs"]
    assert values(record.loss) == [entry["loss"] for entry in kept]
    assert [at.words for at, _ in record.loss] == [1200, 2400]


def test_the_run_folder_of_a_run_that_was_stopped_has_its_finished_epochs(w2vtrain_here, tmp_path, monkeypatch):
    (tmp_path / "text").write_text("a b c d e f g h\n" * 400, encoding="utf-8")
    from w2vtrain.training.checkpointing import CheckpointedRun

    monkeypatch.setattr(CheckpointedRun, "finish", lambda self: None)  # keep the folder
    words = ["fit", "text", "-o", "v.txt", "--epochs", "3", "--threads", "1", "--heldout", "text", "-q"]
    assert w2vtrain_here([*words, "--vector-size", "4", "--checkpoint-every", "0"], tmp_path)[0] == 0
    if not (tmp_path / "v.txt.run").is_dir():
        pytest.skip("the run needed no folder")
    run = read_run(tmp_path / "v.txt.run")
    record = read_run(tmp_path / "v.txt.json")
    assert 1 <= len(run.loss) <= 3
    assert values(record.loss)[: len(run.loss)] == values(run.loss)
    assert values(record.perplexity)[: len(run.perplexity)] == values(run.perplexity)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hello world\n", "is no log, record, model or run folder"),
        ("", "is no log"),
        ('{"event": "start"}\n', r":1: Object missing required field `settings`: name"),
        ('{"event": "start", "settings": {}}\n', "has not finished an epoch"),
        (
            '{"event": "progress", "words": 1, "words_per_second": 3}\n',
            r":1: Object missing required field `epochs`",
        ),
        ('{"event": "epoch", "epoch": "x"}\n', r":1: Expected `float`, got `str` - at `\$.epoch`"),
        ('{"event": "epoch", "epoch": 1, "seconds": -1}\n', r">= 0.0 - at `\$.seconds`"),
        ('{\n"settings": {"epochs": 1}, "record": {"epochs": [7]}}', r"got `int` - at `\$.record.epochs\[0\]`"),
        ('{\n"settings": {"epochs": 1}, "record": {}}', r"field `epochs` - at `\$.record`"),
        ('{\n"settings": {"epochs": 1}}', "field `record`"),
        (
            '{"event": "done", "record": {"epochs": [{"epoch": true, "seconds": 1}]}}\n',
            r"got `bool` - at `\$.epochs\[0\].epoch`",
        ),
    ],
)
def test_other_files_are_refused_in_one_line(tmp_path, text, message):
    (tmp_path / "odd").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=message) as error:
        read_run(tmp_path / "odd")
    assert "odd" in str(error.value)
    assert "\n" not in str(error.value)


def test_a_missing_file_and_another_folder_are_refused(tmp_path):
    with pytest.raises(InputMissing):
        read_run(tmp_path / "none")
    with pytest.raises(DataError, match="not a run folder"):
        read_run(tmp_path)


JSON = st.recursive(st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5), lambda inner: (
    st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(
        ["event", "epoch", "settings", "record", "epochs", "words", "loss", "seconds", "heldout", "alpha"]), inner)
), max_leaves=5)  # fmt: skip


NAMES = [
    "settings",
    "record",
    "epoch",
    "epochs",
    "words",
    "words_per_second",
    "alpha",
    "loss",
    "seconds",
    "heldout",
]
EVENTS = st.fixed_dictionaries(
    {"event": st.sampled_from(["start", "progress", "epoch", "done"])}, optional=dict.fromkeys(NAMES, JSON)
)


@settings(max_examples=25)
@given(st.lists(EVENTS, min_size=1, max_size=4))
def test_any_log_is_read_or_refused(tmp_path_factory, events):
    log = tmp_path_factory.getbasetemp() / "any"
    log.write_text("\n".join(map(json.dumps, events)) + "\n", encoding="utf-8")
    try:
        run = read_run(log)
    except DataError:
        return
    svg_image(curves_figure([run], "any", "words"))


def titles(figure):
    return [axes.get_title("left") for axes in figure.axes if axes.get_title("left")]


def test_pictures_show_only_known_curves_with_a_legend_for_several_runs(trained):
    pytest.importorskip("matplotlib")
    one, other = read_run(trained / "m.safetensors", "one <b>"), read_run(trained / "v.txt.json", "other")
    figure = curves_figure([one, other], "Two runs")
    assert titles(figure) == ["Loss (mean per example)", "Learning rate", "Speed (words per second)"]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["one <b>", "other"]
    assert [line.get_color() for line in figure.axes[0].lines] == list(COLORS[:2])
    for run, line in zip((one, other), figure.axes[0].lines, strict=True):
        assert line.get_ydata().tolist() == values(run.loss)
        assert line.get_xdata().tolist() == [at.epochs for at, _ in run.loss]
    assert curves_figure([one], "One").legends == []


def test_losses_of_different_objectives_have_an_axis_each(trained):
    pytest.importorskip("matplotlib")
    hs, neg, other = (read_run(trained / "v.txt.json", name) for name in ("one", "two", "three"))
    hs.objective, neg.objective, other.objective = "hs", "neg", "neg"
    figure = curves_figure([hs, neg, other], "Runs")
    assert titles(figure)[:2] == ["Loss of hs (mean per example)", "Loss of neg (mean per example)"]
    drawn = [[line.get_color() for line in axes.lines if len(line.get_xdata())] for axes in figure.axes[:2]]
    assert drawn == [[COLORS[0]], [COLORS[1], COLORS[2]]]  # a run has the same color in all pictures


def test_losses_with_different_numbers_of_noise_words_have_an_axis_each(trained, tmp_path):
    pytest.importorskip("matplotlib")
    record = json.loads((trained / "v.txt.json").read_bytes())
    for negative in (5, 15):
        record["settings"] |= {"objective": "neg", "options": {"negative": negative}}
        (tmp_path / f"{negative}.json").write_text(json.dumps(record, indent=1))
    figure = curves_figure([read_run(tmp_path / "5.json"), read_run(tmp_path / "15.json")], "Runs")
    headings = [f"Loss of neg, negative {negative} (mean per example)" for negative in (5, 15)]
    assert titles(figure)[:2] == headings


def test_perplexities_of_a_wide_range_have_a_logarithmic_axis(trained):
    pytest.importorskip("matplotlib")
    run = read_run(trained / "v.txt.json")
    for values_, scale in (([300, 200], "linear"), ([3000, 200], "log")):
        run.perplexity = [(at, value) for (at, _), value in zip(run.loss, values_, strict=True)]
        axes = next(axes for axes in curves_figure([run], "").axes if "perplexity" in axes.get_title("left"))
        assert axes.get_yscale() == scale
        assert ("logarithmic" in axes.get_title("left")) == (scale == "log")
