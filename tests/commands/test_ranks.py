"""The options of `fit` for several ranks."""

import os
from types import SimpleNamespace

import pytest

from w2vtrain.commands.fit_plan import check_ranks
from w2vtrain.commands.fit_request import FitRequest
from w2vtrain.config import Settings
from w2vtrain.errors import ConfigError, UsageError
from w2vtrain.leaves.graphs.walks import Walks
from w2vtrain.training.inputs import Inputs
from w2vtrain.training.plan import Plan


@pytest.mark.parametrize("more", [[], ["--dry-run"]], ids=" ".join)
@pytest.mark.parametrize(("option", "value"), [("--sync-words", "2000"), ("--sync-timeout", "5")])
def test_options_for_several_ranks_are_refused_without_them(tmp_path, w2vtrain_here, option, value, more):
    (tmp_path / "text.txt").write_text("a b\n" * 9)
    code, _, said = w2vtrain_here(["fit", "text.txt", "-o", "v.txt", option, value, *more], tmp_path)
    assert (code, said) == (2, f"w2vtrain: error: {option[2:]}: has no effect without --distributed mpi\n")
    assert [path.name for path in tmp_path.iterdir()] == ["text.txt"]


def test_what_several_ranks_cannot_do_is_refused(tmp_path):
    (tmp_path / "text.txt").write_text("a b\n")
    pipes = ["pipe"] if hasattr(os, "mkfifo") else []
    for name in pipes:
        os.mkfifo(tmp_path / name)

    def check(output="v.txt", start=None, text="text.txt", make=list, **more):
        sources = [text if text == "-" else str(tmp_path / text)]
        plan = Plan(Inputs(make(sources), start=start), Settings())
        check_ranks(FitRequest(sources, {}, output, **more), plan)

    check()
    check(start=SimpleNamespace(model=None), grow_vocabulary=True)
    with pytest.raises(ConfigError, match="several ranks cannot add words to a model"):
        check(start=SimpleNamespace(model=object()), grow_vocabulary=True)
    with pytest.raises(UsageError, match="the ranks need a run folder: name an output file"):
        check("-")
    for name, shown in (("-", "standard input"), *zip(pipes, pipes, strict=True)):
        for make in (list, Walks):
            with pytest.raises(UsageError, match=f"{shown} is not a regular file"):
                check(text=name, make=make)
    for name in pipes:
        with pytest.raises(UsageError, match=f"{name} is not a regular file"):
            check(read_vocab=str(tmp_path / name))
