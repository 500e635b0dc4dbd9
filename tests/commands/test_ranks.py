"""The options of `fit` for several ranks."""

from types import SimpleNamespace

import pytest

from w2vtrain.commands.fit_plan import check_ranks
from w2vtrain.commands.fit_request import FitRequest
from w2vtrain.errors import ConfigError, UsageError


@pytest.mark.parametrize("more", [[], ["--dry-run"]], ids=" ".join)
@pytest.mark.parametrize(("option", "value"), [("--sync-words", "2000"), ("--sync-timeout", "5")])
def test_options_for_several_ranks_are_refused_without_them(tmp_path, w2vtrain_here, option, value, more):
    (tmp_path / "text.txt").write_text("a b\n" * 9)
    code, _, said = w2vtrain_here(["fit", "text.txt", "-o", "v.txt", option, value, *more], tmp_path)
    assert (code, said) == (2, f"w2vtrain: error: {option[2:]}: has no effect without --distributed mpi\n")
    assert [path.name for path in tmp_path.iterdir()] == ["text.txt"]


def test_what_several_ranks_cannot_do_is_refused():
    model = SimpleNamespace(model=object())
    check_ranks(FitRequest(["text.txt"], {}, "v.txt"), None)
    check_ranks(FitRequest(["text.txt"], {}, "v.txt", grow_vocabulary=True), SimpleNamespace(model=None))
    with pytest.raises(ConfigError, match="several ranks cannot add words to a model"):
        check_ranks(FitRequest(["text.txt"], {}, "v.txt", grow_vocabulary=True), model)
    with pytest.raises(UsageError, match="the ranks need a run folder: name an output file"):
        check_ranks(FitRequest(["text.txt"], {}, "-"), None)
