"""Raw text gets a hint that names --tokenizer simple, unless the user chose a tokenizer."""

import pytest
from reference import first_lines

FIT = ["fit", "text.txt", "-o", "v.txt", "--epochs", 1, "--threads", 1, "--vector-size", 5, "--min-count", 2, "--force"]


@pytest.fixture
def raw(tmp_path, monkeypatch):
    first_lines(200, tmp_path / "text.txt")
    monkeypatch.delenv("W2VTRAIN_TOKENIZER", raising=False)
    return tmp_path


def hints(err):
    return [line for line in err.splitlines() if "end in punctuation" in line]


def test_raw_text_gets_one_line(raw, w2vtrain_here):
    code, _, err = w2vtrain_here(FIT, raw)
    (line,) = hints(err)
    assert code == 0
    assert line.startswith("warning ")
    assert "--tokenizer simple" in line
    assert hints(w2vtrain_here([*FIT, "--log-json", "-", "-q"], raw)[1])


def test_a_chosen_tokenizer_is_not_questioned(raw, w2vtrain_here, monkeypatch):
    assert not hints(w2vtrain_here([*FIT, "--tokenizer", "whitespace"], raw)[2])
    assert not hints(w2vtrain_here([*FIT, "--tokenizer", "simple"], raw)[2])
    (raw / "s.toml").write_text('tokenizer = "whitespace"\n')
    assert not hints(w2vtrain_here([*FIT, "--config", "s.toml"], raw)[2])
    monkeypatch.setenv("W2VTRAIN_TOKENIZER", "whitespace")
    assert not hints(w2vtrain_here(FIT, raw)[2])


def test_prepared_text_gets_no_hint(raw, w2vtrain_here):
    text = (raw / "text.txt").read_text(encoding="utf-8").replace(",", " ,").replace(".", " .").replace(")", " )")
    (raw / "text.txt").write_text(text, encoding="utf-8")
    assert not hints(w2vtrain_here(FIT, raw)[2])
