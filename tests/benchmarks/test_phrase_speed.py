"""The benchmark of phrases: both systems run and agree, and its table has medians."""

import pytest
from phrase_speed import main, table


@pytest.mark.slow
def test_both_systems_join_the_same_text(tmp_path, capsys):
    pytest.importorskip("gensim.models.phrases")
    corpus = tmp_path / "text"
    corpus.write_text("he saw new york\nshe saw some city\n" * 200 + "it is\n" * 300, encoding="utf-8")
    main([str(corpus), "--repeats", "1"])
    out, said = capsys.readouterr()
    assert len(out.splitlines()) == 5
    assert said.count(" phrases\n") == 2


def test_the_table_has_medians_and_their_quotients():
    rows = {
        "w2vtrain": [[1.0, 1.0, 2.0, 5], [3.0, 3.0, 9.0, 5], [2.0, 2.0, 2.0, 5]],
        "gensim": [[20.0, 25.0, 30.0, 5]] * 3,
    }
    assert [line.split("|")[2:5] for line in table(rows)[2:]] == [
        [" 2.00 s ", " 20.00 s ", " 10.0 "],
        [" 2.00 s ", " 25.00 s ", " 12.5 "],
        [" 2.00 s ", " 30.00 s ", " 15.0 "],
    ]
