"""Options and commands of word2vec.c, gensim and fastText are answered with ours, in one line."""

import re

import pytest

from w2vtrain.api import train
from w2vtrain.cli import cli
from w2vtrain.commands import spelling
from w2vtrain.config import NAMES, resolve, validated
from w2vtrain.errors import ConfigError, shell_spelling
from w2vtrain.other_programs import COMMANDS, IN_SHELL, OPTIONS, hint_for

FIT = ["fit", "text.txt", "-o", "v.txt"]


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["--min_count", "3"], "write --min-count"),
        (["-min_count", "3"], "write --min-count, with two hyphens"),
        (["--cbow", "1"], "--architecture cbow"),
        (["--sg=1"], "--architecture skipgram"),
        (["--hs", "1"], "--objective hs"),
        (["-maxn", "6"], "write --maxn"),
        (["-train", "x"], "w2vtrain fit CORPUS -o FILE"),
        (["-output", "x"], "write --output"),
        (["-minCount", "3"], "use --min-count"),
        (["-t", "1e-4"], "use --sample, or write --tag or --threads or --tokenizer"),
        (["--binary", "1"], "--format binary"),
        (["--cbow-mean", "0"], "cbow-sum"),
        (["-e", "3"], "write --encoding-errors or --epochs or --export"),
        (["--grow"], "write --grow-vocabulary"),
        (["-vector", "9"], "write --vector-size"),
        (["--mincount", "3"], "write --min-count"),
        (["--window-size", "3"], "use --window"),
        (["--vocab-size", "9"], "use --max-vocab;"),
        (["-debug", "2"], "leave it out, with its value; --debug"),
        (["--representation-size", "9"], "use --vector-size;"),
        (["--number-walks", "9"], "use --walks;"),
        (["-save-file", "9"], "use --output;"),
        (["-help"], "write --help, with two hyphens"),
        (["--undirected"], "leave it out; the opposite is --directed;"),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, list) else "",
)
def test_an_option_of_another_program_is_answered_with_ours(words, answer, w2vtrain_here, tmp_path):
    code, out, err = w2vtrain_here([*FIT, *words], tmp_path)
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert f"No such option '{words[0].partition('=')[0]}': " in err
    assert answer in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["train", "skipgram", "cbow", "supervised", "nn", "print-word-vectors"])
def test_a_command_of_another_program_is_answered_with_ours(name, w2vtrain_here, tmp_path):
    code, out, err = w2vtrain_here([name], tmp_path)
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert f"No such command '{name}': {COMMANDS[name]}" in err


def test_the_tables_have_no_name_of_our_own():
    assert not COMMANDS.keys() & cli.commands.keys()
    assert not OPTIONS.keys() & set(NAMES)
    options = {name for part in cli.commands["fit"].params for name in part.opts}
    assert {name for name in OPTIONS if f"--{name.replace('_', '-')}" in options} == IN_SHELL.keys()


def test_every_option_and_command_that_an_answer_names_exists():
    options = {name for part in cli.commands["fit"].params for name in part.opts} | {"--restrict-vocab", "eval"}
    options |= {"--ngrams", "--sentences"}
    with shell_spelling():
        hints = [hint_for(name) for name in OPTIONS]
    for hint in (*hints, *COMMANDS.values()):
        assert {word.strip(",;") for word in hint.split() if word.startswith("--")} <= options, hint
        words = hint.replace(",", "").split()
        named = [words[i + 1] for i, word in enumerate(words[:-1]) if word == "w2vtrain" and words[i - 1] == "use"]
        assert set(named) <= cli.commands.keys(), hint


def test_settings_of_other_programs_are_answered_in_all_sources(w2vtrain_here, tmp_path, monkeypatch):
    for name, hint in {
        "sg": "use architecture='skipgram', or 'cbow' for 0", "init_from": "use continue_training(model, corpus)",
        "graph": "pass w2vtrain.Walks(EDGES) as the first argument", "save_model": "use the model's save(path)",
        "n_components": "use vector_size",
    }.items():  # fmt: skip
        with pytest.raises(ConfigError, match=re.escape(f"unknown setting '{name}' ({hint})")):
            train([["a", "b"]], **{name: 1})
    with pytest.raises(ConfigError, match=r"^unknown setting 'sentences' \(pass the text as the first argument\)$"):
        train(sentences=[["a", "b"]], progress=True)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'corpus'"):
        train(epochs=2)
    for line, hint in {"hs = 1": "use --objective hs", "max_n = 5": "use --maxn", "graph = 1": "use --graph"}.items():
        (tmp_path / "s.toml").write_text(f"{line}\n")
        assert hint in w2vtrain_here([*FIT, "--config", "s.toml"], tmp_path)[2]
    monkeypatch.setenv("W2VTRAIN_CBOW", "1")
    assert "use W2VTRAIN_ARCHITECTURE=cbow" in w2vtrain_here(FIT, tmp_path)[2]


def test_a_variable_is_compared_with_the_names_of_settings_without_what_all_variables_begin_with():
    for name, answer in {"epochs": r" \(did you mean 'W2VTRAIN_EPOCHS'\?\)", "CONFIG": ""}.items():
        with pytest.raises(ConfigError, match=f"^unknown setting 'W2VTRAIN_{name}'{answer}$"):
            resolve({}, {f"W2VTRAIN_{name}": "x"})


def test_an_answer_to_a_variable_names_only_variables_that_exist():
    known = {f"W2VTRAIN_{name.upper()}" for name in NAMES}
    for name in OPTIONS:
        with pytest.raises(ConfigError) as refused:
            resolve({}, {f"W2VTRAIN_{name.upper()}": "1"})
        assert set(re.findall(r"use (W2VTRAIN_\w+)", str(refused.value))) <= known, name


def every_command(group):
    for command in group.commands.values():
        yield from every_command(command) if hasattr(command, "commands") else [command]


def test_an_answer_names_only_options_that_the_command_has():
    with shell_spelling():
        for command in every_command(cli):
            known = spelling.options_of(command)
            for name in OPTIONS:
                said = spelling.answer(f"--{name}", known, "") or ""
                named = {word.strip(",;") for word in said.partition("fit CORPUS")[0].split() if word.startswith("--")}
                assert named <= known, (command.name, name, said)


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ([*FIT, "-autotune-duration", "5"], "No such option '-autotune-duration'; see"),
        ([*FIT, "--version"], "No such option '--version'; see"),
        (["neighbors", "v.txt", "--model", "x"], "No such option '--model'; see"),
        ([*FIT, "--epocks=3"], "No such option '--epocks': did you mean --epochs?; see"),
    ],
    ids=["whole name", "unlike all", "unlike all short ones", "like one"],
)
def test_an_unknown_option_is_reported_whole_and_only_options_like_it_are_suggested(
    words, answer, w2vtrain_here, tmp_path
):
    assert answer in w2vtrain_here(words, tmp_path)[2]


def test_words_that_only_look_like_such_options_are_left_alone(w2vtrain_here, tmp_path):
    code, out, _ = w2vtrain_here([*FIT, "--print-config", "-qO", "negative=3", "--alpha", "0.1"], tmp_path)
    assert code == 0
    assert "negative = 3" in out
    assert w2vtrain_here(["fit", "-o", "v.txt", "--print-config", "--", "-cbow"], tmp_path)[0] == 0
    assert "use --sample" not in w2vtrain_here(["neighbors", "v.txt", "-t"], tmp_path)[2]


def test_a_short_option_that_only_other_commands_have_is_not_taken_for_the_beginning_of_another(
    w2vtrain_here, tmp_path
):
    for option, words in (("-q", ["compare", "text.txt", "-o", "new"]), ("-n", ["fit", "text.txt", "-o", "v.txt"])):
        said = w2vtrain_here([*words, option], tmp_path)[2]
        assert f"No such option '{option}'; see w2vtrain {words[0]} --help" in said


def test_settings_that_train_does_not_have_are_answered_with_what_python_has():
    for name, answer in {
        "reread": "reads sentences once",
        "binary": "write_vectors",
        "input": "first argument",
        "pretrainedVectors": "continue_training",
    }.items():
        with pytest.raises(ConfigError) as caught:
            validated({name: 1})
        assert answer in str(caught.value)
        assert "--" not in str(caught.value)
