"""`report`: its page states the facts of the record, shows foreign text as text, and loads nothing."""

import base64
import json
import os
import re
import shlex
import shutil
from html.parser import HTMLParser
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import first_lines

from w2vtrain.cli import cli
from w2vtrain.commands.shell import explained
from w2vtrain.formats.vectors import Vectors, write_vectors
from w2vtrain.leaves.pictures.report import EXAMPLES, Subject, neighbors_of, remark_on, report, scores_of, subject_of
from w2vtrain.system.amounts import duration, size_text

pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")
ATTACK = '</script><img/src=x/onerror="hacked=1">&amp;\u202eevil'
SHOWN = ATTACK.replace("\u202e", "\\u202e")
FIT = ["fit", "text.txt", "-o", "v.txt", "--epochs", "3", "--threads", "1", "--vector-size", "8", "--min-count", "2"]


def w2vtrain(folder, *words, code=0, **environment):
    """Run a command in a folder and return its output. A failure must be one line."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        done = CliRunner().invoke(cli, list(map(str, words)), env=environment)
    finally:
        os.chdir(before)
    found, message = explained(done.exception) if done.exception else (0, "")
    assert found == code, (message, done.output)
    return done.stdout if not code else message


class Page(HTMLParser):
    """A page by section: the rows of its tables and lists, and its text; and the attributes of all elements."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.section, self.within, self.row = "", [], []
        self.rows: dict[str, list[list[str]]] = {}
        self.texts: dict[str, str] = {}
        self.attributes: list[tuple[str, str, str]] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag == "section":
            self.section = dict(attrs)["id"]
        if tag in ("th", "td", "dt", "dd"):
            self.row.append("")
        self.within.append(tag)

    def handle_endtag(self, tag):
        if tag in self.within:
            while self.within.pop() != tag:
                pass
        if tag in ("tr", "dd"):
            self.rows.setdefault(self.section, []).append(self.row)
            self.row = []

    def handle_data(self, data):
        if "script" in self.within or "style" in self.within:
            return
        self.texts[self.section] = self.texts.get(self.section, "") + data
        if self.row and {"th", "td", "dt", "dd"} & {*self.within}:
            self.row[-1] += data


def test_a_damaged_record_is_reported(tmp_path, caplog):
    rows = np.random.default_rng(1).normal(size=(40, 5)).astype(np.float32)
    write_vectors(tmp_path / "v.txt", [f"w{i}" for i in range(40)], rows)
    (tmp_path / "v.txt.json").write_text('{"settings": {')
    assert subject_of(str(tmp_path / "v.txt")).record == {}
    assert "v.txt.json is damaged or not the record of a run" in caplog.text


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Return a folder with a finished run: v.txt and its record, m.safetensors, and its log."""
    folder = tmp_path_factory.mktemp("trained")
    first_lines(300, folder / "text.txt")
    first_lines(5, folder / "heldout.txt")
    (folder / "s.toml").write_text("sample = 0.01\n")
    more = [
        "--save-model",
        "m.safetensors",
        "--heldout",
        "heldout.txt",
        "--log-json",
        "log.jsonl",
        "--config",
        "s.toml",
    ]
    w2vtrain(folder, *FIT, *more, "--config", "s.toml", "-O", "negative=3", W2VTRAIN_WINDOW="4")
    return folder


@pytest.fixture(scope="module")
def page(trained):
    w2vtrain(trained, "report", "v.txt", "-o", "v.html")
    return Page((trained / "v.html").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def record(trained):
    return json.loads((trained / "v.txt.json").read_bytes())


def test_settings_have_the_origins_that_they_had(page, record):
    origins = {row[0]: row[1:] for row in page.rows["settings"]}
    assert origins["window"] == ["4", "W2VTRAIN_WINDOW"]
    assert origins["epochs"] == ["3", "command line"]
    assert origins["sample"] == ["0.01", "s.toml"]
    assert origins["negative (option)"] == ["3", "command line"]
    assert origins["alpha"] == [f"{record['settings']['alpha']:g}", "chosen automatically"]
    assert origins["vector_size"] == ["8", "command line"]
    changed = {name for name, origin in record["record"]["origins"].items() if origin != "default"} - {"options"}
    assert origins.keys() >= changed
    assert "objective" not in origins  # a default


def test_time_machine_and_vocabulary_are_those_of_the_record(page, record, trained):
    found = record["record"]
    phases = {row[0]: row[1] for row in page.rows["time-and-memory"]}
    assert {name: phases[name] for name in found["seconds"]} == {
        name: duration(value) for name, value in found["seconds"].items()
    }
    assert phases["peak memory of the process"] == size_text(found["peak_memory_bytes"])
    machine = dict(row for row in page.rows["machine-and-versions"] if len(row) == 2)
    assert machine["processor"] == found["machine"]["processor"]
    assert machine["numpy"] == found["versions"]["numpy"]
    assert machine["cores that the run could use"] == f"{found['machine']['cores']:,}"
    words = dict(page.rows["vocabulary"])
    assert words["words of the corpus, with repetitions"] == f"{found['corpus']['tokens']:,}"
    assert words["words"] == f"{found['vocabulary']['size']:,}"
    assert f"{found['vocabulary']['words'] / found['corpus']['tokens']:.1%}" in words.values()
    for warning in found["warnings"]:
        assert warning in page.texts["warnings"]
    assert found["warnings"], "the test needs a run with a warning"
    assert f"held-out perplexity was lowest in epoch {found['best_epoch']}." in page.texts[""]


def test_all_curves_are_drawn_and_nothing_in_a_picture_is_more_than_a_picture(page):
    curves = next(value for tag, name, value in page.attributes if (tag, name) == ("img", "src"))
    picture = base64.b64decode(curves.removeprefix("data:image/svg+xml;base64,")).decode()
    for title in ("Loss", "Learning rate", "Speed", "Held-out perplexity"):
        assert title in picture


def test_neighbors_are_those_of_the_command(page, trained):
    asked = [word for word, _ in neighbors_of(subject_of(str(trained / "v.txt")).vectors)]
    assert len(asked) == EXAMPLES
    for word in asked:
        line = json.loads(w2vtrain(trained, "neighbors", "v.txt", word, "-n", 8, "--json"))
        near = "".join(f"{other} {cosine:.2f}" for other, cosine in line["answers"])
        assert f"{word}{near}" in page.texts["neighbors"].replace("\n", "")


def test_a_word_without_known_n_grams_has_no_neighbors(tmp_path):
    (tmp_path / "text.txt").write_text("the cat of the mat\n" * 9)
    w2vtrain(
        tmp_path, "fit", "text.txt", "--subwords", "--save-model", "m.safetensors", "-o", "v.txt", "--vector-size", 4,
        "--min-count", 1, "--sample", 0, "--epochs", 1,
    )  # fmt: skip
    found = dict(neighbors_of(subject_of(str(tmp_path / "m.safetensors")).vectors, ["cat", "cats", "xyzzy"]))
    assert found["cat"]
    assert found["cats"]
    assert found["xyzzy"] is None


def test_the_command_repeats_the_run_whatever_the_environment_says(record, trained):
    words = shlex.split(record["command"])
    assert words[:2] == ["w2vtrain", "fit"]
    printed = w2vtrain(trained, *words[1:], "--print-config", W2VTRAIN_EPOCHS="9", W2VTRAIN_WINDOW="9")
    for name in ("window", "epochs", "sample", "alpha", "threads", "min_count", "negative"):
        value = record["settings"].get(name, record["settings"]["options"].get(name))
        assert f"\n{name} = {json.dumps(value)} " in f"\n{printed}"
    again = trained / "again"
    again.mkdir()
    for name in ("text.txt", "heldout.txt"):
        shutil.copy(trained / name, again)
    w2vtrain(again, *words[1:])
    assert (again / "v.txt").read_bytes() == (trained / "v.txt").read_bytes()


def test_a_model_has_what_the_vectors_have_and_counts(trained):
    w2vtrain(trained, "report", "m.safetensors", "-o", "m.html", "--log-json", "log.jsonl")
    found = Page((trained / "m.html").read_text(encoding="utf-8"))
    assert ["window", "4", "W2VTRAIN_WINDOW"] in found.rows["settings"]
    assert subject_of(str(trained / "m.safetensors")).vectors.words[0] in found.texts["vocabulary"]
    assert len([tag for tag, name, _ in found.attributes if (tag, name) == ("img", "src")]) == 2  # curves and counts


def test_equal_input_gives_an_equal_page(trained):
    for name in ("a.html", "b.html"):
        w2vtrain(trained, "report", "v.txt.json", "-o", name)
    assert (trained / "a.html").read_bytes() == (trained / "b.html").read_bytes()


def test_a_page_is_small_and_refers_to_nothing_outside(page, trained):
    text = (trained / "v.html").read_text(encoding="utf-8")
    assert len(text) < 1_000_000
    links = [value for _, name, value in page.attributes if name in ("href", "src", "xlink:href", "action", "srcset")]
    assert "#settings" in links
    assert not [link for link in links if not link.startswith(("#", "data:,", "data:image/svg+xml;base64,"))]
    assert not re.search(r"url\(|@import", text)
    assert not [name for _, name, _ in page.attributes if name.startswith("on")]


def test_vectors_of_another_program_have_fewer_sections_and_say_so(tmp_path):
    rows = np.random.default_rng(1).normal(size=(40, 5)).astype(np.float32)
    rows[7] = 0
    write_vectors(tmp_path / "g.txt", [f"w{i}" for i in range(40)], rows)
    w2vtrain(tmp_path, "report", "g.txt", "-o", "g.html", "--words", "w3, unknown, w7")
    found = Page((tmp_path / "g.html").read_text(encoding="utf-8"))
    assert "warnings" not in found.texts
    for section in ("curves", "settings", "time-and-memory", "machine-and-versions", "reproduce", "vocabulary"):
        assert "not recorded" in found.texts[section], section
    assert "none of its 999 pairs has both words among the first " in found.texts["scores"]
    assert "unknown\nNot in the vocabulary." in found.texts["neighbors"]
    assert "w7\nNo neighbors: this vector, or all others, are zero." in found.texts["neighbors"]


def test_scores_are_those_of_eval_and_small_coverage_is_named(tmp_path):
    words = [f"w{i}" for i in range(80)]
    rng = np.random.default_rng(2)
    vectors = Vectors(words, rng.normal(size=(80, 6)).astype(np.float32))
    write_vectors(tmp_path / "v.txt", words, vectors.matrix)
    lines = [f"w{i} w{i + 1} {rng.uniform():.2f}\n" for i in range(70)]
    (tmp_path / "many.tsv").write_text("".join(lines))
    (tmp_path / "few.tsv").write_text("".join(lines[:10]))
    (tmp_path / "q.txt").write_text(": s\n" + "".join(f"w{i} w{i + 1} w{i + 2} w{i + 3}\n" for i in range(60)))
    paths = [str(tmp_path / name) for name in ("many.tsv", "few.tsv")]
    found = {score.name: score for score in scores_of(vectors, [str(tmp_path / "q.txt")], paths)}
    many, few = found["many.tsv"], found["few.tsv"]
    stated = json.loads(w2vtrain(tmp_path, "eval", "similarity", "v.txt", paths[0], "--json"))
    assert [many.score, list(many.interval)] == [stated["spearman"], stated["interval"]]
    assert (remark_on(many), remark_on(few)) == ("", "too few to mean anything: 10 of 10")
    asked = json.loads(w2vtrain(tmp_path, "eval", "analogies", "v.txt", tmp_path / "q.txt", "--json"))["total"]
    mine = found["q.txt"]
    assert (mine.score, mine.answered, list(mine.interval)) == (asked["accuracy"], 60, asked["interval"])
    assert remark_on(mine._replace(asked=1000)).startswith("only 6% covered")
    assert found["wordsim353"].score is None


def test_foreign_text_is_shown_as_text_everywhere(tmp_path):
    names = [ATTACK, *(f"w{i}" for i in range(9))]
    write_vectors(tmp_path / "v.txt", names, np.random.default_rng(3).normal(size=(10, 4)).astype(np.float32))
    origins = {"window": ATTACK, "options": {ATTACK: ATTACK}}
    values = {
        "command": f"w2vtrain fit {ATTACK}",
        "settings": {"architecture": ATTACK, "objective": ATTACK, "window": ATTACK, "options": {ATTACK: ATTACK}},
        "record": {"warnings": [ATTACK], "origins": origins, "seconds": {ATTACK: 1.0},
                   "machine": {"processor": ATTACK}, "versions": {ATTACK: ATTACK}},
    }  # fmt: skip
    (tmp_path / "v.txt.json").write_text(json.dumps(values), encoding="utf-8")
    w2vtrain(tmp_path, "report", "v.txt", "-o", "r.html", "--words", f"w1,{ATTACK}")
    found = Page((tmp_path / "r.html").read_text(encoding="utf-8"))
    assert not [value for _, name, value in found.attributes if name == "src" and not value.startswith("data:")]
    assert "onerror" not in {name for _, name, _ in found.attributes}
    for section in ("warnings", "neighbors", "map", "vocabulary", "settings", "time-and-memory",
                    "machine-and-versions", "reproduce"):  # fmt: skip
        assert SHOWN in found.texts[section], section


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
NAMES = ("corpus", "vocabulary", "epochs", "seconds", "machine", "versions", "origins", "warnings", "best_epoch",
         "words_per_second", "peak_memory_bytes", "words_per_cpu_second", "output_parameters")  # fmt: skip


def test_a_record_that_leaves_out_epochs_has_their_number():
    record = {"epochs": [{"epoch": 1}, {"epoch": 1500}]}
    found = Page(report(Subject("r", "record", Vectors(["x", "y"], np.eye(2, dtype=np.float32)), {}, record)))
    assert "Finished: 1,500 epochs." in found.texts[""]
    assert ["epochs", "1,500"] in found.rows[""]


@pytest.mark.parametrize("seconds", [None, 60.0])
def test_the_bytes_of_a_run_are_repeatable_unless_its_time_is_limited(seconds):
    vectors = Vectors(["x", "y"], np.eye(2, dtype=np.float32))
    found = Page(report(Subject("r", "record", vectors, {"seconds": seconds}, command="w2vtrain fit")))
    assert ("it gives the same bytes" in found.texts["reproduce"]) == (seconds is None)


@settings(max_examples=30, deadline=None)
@given(record=st.fixed_dictionaries({}, optional=dict.fromkeys(NAMES, JSON)), options=JSON, alpha=JSON)
def test_any_record_gives_a_page(record, options, alpha):
    vectors = Vectors(["x", "y"], np.eye(2, dtype=np.float32))
    subject = Subject("r", "record", vectors, {"alpha": alpha, "options": options, "subwords": alpha}, record)
    assert report(subject).endswith("</html>\n")


@pytest.mark.parametrize(
    ("words", "code", "part"),
    [
        (("missing.txt",), 66, "missing.txt cannot be opened"),
        ((".",), 66, "is a folder: name a file"),
        (("text.txt",), 65, "neither vectors nor a model"),
        (("v.txt", "--log-json", "text.txt"), 65, "text.txt: is no log"),
        (("v.txt", "--pairs", "text.txt"), 65, "text.txt:1"),
        (("v.txt", "-o", "v.txt.json"), 2, "both input and output"),
        (("v.txt", "-o", "text.txt"), 73, "exists: use "),
        (("v.txt", "-o", "new.PDF"), 2, "new.PDF: a report is a web page"),
        (("-",), 2, "needs a file, beside which"),
    ],
    ids=["missing", "folder", "text", "log", "pairs", "input", "exists", "picture", "stdin"],
)
def test_bad_input_is_one_line(trained, words, code, part):
    output = () if "-o" in words else ("-o", "new.html")
    assert part in w2vtrain(trained, "report", *words, *output, code=code)
    assert not (trained / "new.html").exists()


def test_the_record_of_other_vectors_is_noticed(trained, tmp_path, w2vtrain_here):
    write_vectors(tmp_path / "v.txt", ["a", "b", "c"], np.eye(3, dtype=np.float32))
    shutil.copy(trained / "v.txt.json", tmp_path)
    words = ["report", "v.txt", "-o", "r.html"]
    assert w2vtrain_here(words, tmp_path) == (0, "", "output      r.html\n")
    assert w2vtrain_here([*words, "--force", "--quiet"], tmp_path) == (0, "", "")
    assert "it may describe other vectors" in (tmp_path / "r.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("rows", "command", "kept", "is_other"),
    [(3, "fit t", {}, True), (3, "fit t --documents", {}, False), (9, "fit t", {"kept_words": 4}, False)],
)
def test_the_record_of_documents_or_with_words_kept_is_not_of_other_vectors(rows, command, kept, is_other):
    vectors = Vectors([f"w{row}" for row in range(rows)], np.eye(rows, dtype=np.float32))
    page = report(Subject("r", "record", vectors, {}, {"vocabulary": {"size": 5}, "init_from": kept}, command=command))
    assert ("it may describe other vectors" in page) == is_other


@pytest.fixture
def tab(browser):
    """Yield a tab, and a list of its messages on the console, script errors and requests beyond the file itself."""
    tab = browser.new_page()
    troubles: list[str] = []
    tab.on("console", lambda message: troubles.append(message.text))
    tab.on("pageerror", lambda error: troubles.append(str(error)))
    tab.on("request", lambda request: None if request.url.endswith(".html") else troubles.append(request.url[:200]))
    yield tab, troubles
    tab.close()


# Elements with text that reach beyond the screen, unless something around them scrolls.
CUT = """
() => [...document.querySelectorAll("body *")].filter(e => !e.closest("svg, .scroll, script")
    && e.getBoundingClientRect().width && e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML)
"""
FITS = "[...document.querySelectorAll('.scroll')].every(e => e.scrollWidth <= e.clientWidth + 1)"


def test_the_page_fits_the_screen_without_errors_and_requests(trained, page, tab):
    """Check both widths and color schemes. W2V_SCREENSHOTS=DIR keeps the pictures."""
    browser, troubles = tab
    browser.goto((trained / "v.html").as_uri())
    for width, scheme in product((1300, 390), ("light", "dark")):
        browser.set_viewport_size({"width": width, "height": 900})
        browser.emulate_media(color_scheme=scheme)
        assert browser.evaluate("document.scrollingElement.scrollWidth") <= width
        assert browser.evaluate(CUT) == []
        assert browser.evaluate(FITS)
        ground = browser.evaluate("getComputedStyle(document.body).backgroundColor")
        assert ground == {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 23, 27)"}[scheme]
        assert len(browser.locator("#map svg circle").all()) > 20
        if folder := os.environ.get("W2V_SCREENSHOTS"):
            browser.screenshot(path=Path(folder, f"report-{width}-{scheme}.png"), full_page=True)
    assert not troubles


def test_the_page_is_printed_in_dark_on_white(trained, page, tab):
    browser, troubles = tab
    browser.emulate_media(media="print", color_scheme="dark")
    browser.goto((trained / "v.html").as_uri())
    colors = "(c => [c.backgroundColor, c.color])(getComputedStyle(document.body))"
    assert browser.evaluate(colors) == ["rgb(255, 255, 255)", "rgb(27, 31, 36)"]
    assert not browser.locator("nav").is_visible()
    assert browser.pdf(format="A4").startswith(b"%PDF")
    assert not troubles


def test_no_foreign_script_runs_even_if_it_were_in_the_page(tmp_path, tab):
    browser, troubles = tab
    names = [ATTACK, *(f"w{i}" for i in range(9))]
    write_vectors(tmp_path / "v.txt", names, np.random.default_rng(3).normal(size=(10, 4)).astype(np.float32))
    w2vtrain(tmp_path, "report", "v.txt", "-o", "r.html", "--words", f"w1,{ATTACK}")
    file = tmp_path / "r.html"
    browser.goto(file.as_uri())
    browser.locator("#map .word").first.hover(force=True)
    assert browser.evaluate("window.hacked") is None
    assert not troubles
    attack = "<main><img src=x onerror='hacked=1'><script>hacked=1</script>"
    file.write_text(file.read_text(encoding="utf-8").replace("<main>", attack), encoding="utf-8")
    browser.goto(file.as_uri())
    assert browser.evaluate("window.hacked") is None
    assert any("Content Security Policy" in text for text in troubles)
