"""Settings from flags, environment and files: precedence, checks and messages."""

import gzip
import json
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from w2vtrain.config import ROWS, SYNONYMS, Settings, broken_rules, check_patience, read_toml, resolve, validated
from w2vtrain.errors import ConfigError, InputMissing
from w2vtrain.system import machine
from w2vtrain.system.machine import automatic_threads, peak_memory, versions
from w2vtrain.training.plan import effective


def toml(tmp_path, text):
    path = tmp_path / "settings.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_flag_beats_environment_beats_file_beats_default(tmp_path):
    path = toml(tmp_path, "window = 3\nepochs = 7\nseed = 2\n")
    environment = {"W2VTRAIN_EPOCHS": "8", "W2VTRAIN_SEED": "3", "HOME": "/"}
    settings, origins = resolve({"seed": "4"}, environment, path)
    assert (settings.window, settings.epochs, settings.seed, settings.min_count) == (3, 8, 4, 5)
    assert origins["window"] == str(path)
    assert origins["epochs"] == "W2VTRAIN_EPOCHS"
    assert origins["seed"] == "command line"
    assert origins["min_count"] == "default"


def test_objective_may_be_a_table_with_options(tmp_path):
    path = toml(tmp_path, '[objective]\nname = "nce"\n[objective.options]\nnegative = 25\nns_exponent = 1.0\n')
    settings, _ = resolve({"options": {"negative": "3"}}, {}, path)
    assert settings.objective == "nce"
    assert settings.options == {"negative": "3", "ns_exponent": 1.0}
    options = {"negative": 3, "ns_exponent": 1.0, "learn_z": False, "share_noise": 1, "z_table": 0, "pool": 0}
    assert effective(settings).options == options


def test_options_are_dropped_if_a_later_source_names_another_objective(tmp_path):
    path = toml(tmp_path, '[objective]\nname = "nce"\n[objective.options]\nnegative = 25\n')
    settings, _ = resolve({"objective": "selfnorm"}, {}, path)
    assert effective(settings).options == {"penalty": 1.0}
    settings, _ = resolve({"objective": "neg", "options": {"negative": "3"}}, {}, path)
    assert settings.options == {"negative": "3"}
    settings, _ = resolve({"objective": "nce"}, {"W2VTRAIN_OBJECTIVE": "nce"}, path)
    assert settings.options == {"negative": 25}
    model = {"objective": "/there/mine.py", "options": {"epsilon": 0.3}}
    for name, kept in (("./mine.py", {"epsilon": 0.3}), ("there/other.py", {}), ("nce", {})):
        assert resolve({"objective": name}, {}, start=model)[0].options == kept, "a file of code may have moved"
    path = toml(tmp_path, 'objective = "a/mine.py"\n[options]\nepsilon = 0.3\n')
    for name, kept in (("./a/mine.py", {"epsilon": 0.3}), ("b/mine.py", {"epsilon": 0.3}), ("a/other.py", {})):
        assert resolve({"objective": name}, {}, path)[0].options == kept, "a message asks for the path of the file"
    (there := tmp_path / "mine.py").touch()
    path = toml(tmp_path, f"objective = '{there}'\n[options]\nepsilon = 0.3\n")
    for name, kept in ((there, {"epsilon": 0.3}), ("b/mine.py", {})):
        assert resolve({"objective": str(name)}, {}, path)[0].options == kept, "another file may have the same name"
    settings, _ = resolve({"objective": "nce"}, {}, toml(tmp_path, "[options]\nnegative = 7\n"))
    assert settings.options == {"negative": 7}, "options without an objective apply to any objective"


@pytest.mark.parametrize(
    ("name", "values"),
    {
        "vector_size": [0, -1, "abc", 2.5, True, 10**9, None, "nan"],
        "window": [0, -5, 1e300, "", "words"],
        "sample": [-1, "nan", "inf", 2],
        "alpha": [-1, "nan", "inf", "x"],
        "epochs": [0, -1],
        "min_count": [0],
        "max_vocab": [0, 1],
        "max_sentence": [0, 1],
        "threads": [0, -1, 10_000, "many"],
        "seed": [-1, 2**64],
        "architecture": [1, None, ["cbow"]],
        "tokenizer": ["moses"],
        "shrink_windows": ["maybe", 3],
        "options": [3],
    }.items(),
)
def test_values_that_hang_or_crash_other_programs_are_refused(name, values):
    for value in values:
        with pytest.raises(ConfigError, match=name) as caught:
            validated({name: value})
        assert caught.value.exit_code == 78
        assert "\n" not in str(caught.value)


def test_options_of_a_wrong_type_are_the_problem_although_one_is_also_given_alone():
    with pytest.raises(ConfigError, match=r"^options: expected .*, got 5$"):
        validated({"options": 5, "negative": 3})


def test_all_problems_are_reported_at_once():
    with pytest.raises(ConfigError) as caught:
        validated({"window": 0, "epochs": -1, "vector_sise": 3})
    assert all(word in str(caught.value) for word in ("window", "epochs", "did you mean 'vector_size'"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("windw = 3", "did you mean 'window'"),
        ("window = ", "not TOML"),
        (gzip.compress(b"window = 3", mtime=0), "compressed: decompress it$"),
        ("window = 3".encode("utf-16"), "UTF-16 or UTF-32 at byte 0, expected UTF-8: convert it with iconv"),
        (f"window = {'9' * 5000}", "not TOML: .*: value has 5000 digits$"),
        ("[objective]\nnaem = 'hs'", "did you mean 'name'"),
        (
            "[objective]\nname = 'hs'\ntree = 'balanced'",
            r"'tree'; options of the objective are in \[objective\.options\]",
        ),
        ("window = 'x'", "whole number"),
        ("windw = 3\nwindow = 'x'\nepochs = 0", "did you mean 'window'.*window: expected.*epochs: expected"),
        ("alpha = 0.1\nmin_alpha = 0.2", "min_alpha: 0.2 is more than alpha, 0.1"),
    ],
)
def test_invalid_settings_files_are_refused(tmp_path, text, message):
    with pytest.raises(ConfigError, match=rf"settings\.toml: .*{message}"):
        resolve({}, {}, toml(tmp_path, text))


def test_settings_files_of_more_than_1_mib_are_refused(tmp_path):
    rest = "#" * ((1 << 20) - len("window = 3\n"))
    assert read_toml(toml(tmp_path, f"window = 3\n{rest}"))["window"] == 3
    with pytest.raises(ConfigError, match="more than 1,048,576 bytes: too many for a settings file"):
        read_toml(toml(tmp_path, f"window = 3\n#{rest}"))


def test_a_key_of_hundreds_of_parts_is_refused_before_it_is_parsed(tmp_path):
    for text in ("window = 3\n" + "a." * 400 + "b = 1", "x = {" + "a." * 400 + "b = 1}", "[" + "a." * 400 + "b]"):
        with pytest.raises(ConfigError, match=r"toml:\d: 400 dots in a line"):
            read_toml(toml(tmp_path, text))
    assert read_toml(toml(tmp_path, f"window = 3  # {'.' * 200}\n  # {'.' * 400}"))["window"] == 3


def test_many_unknown_settings_give_a_short_message(tmp_path):
    names = [f"windo{number}" for number in range(50_000)]
    for refuse in (
        lambda: resolve({}, {}, toml(tmp_path, "\n".join(f"{name} = 1" for name in names))),
        lambda: validated(dict.fromkeys(names, 1)),
        lambda: validated({"x" * 100_000: 1}),
    ):
        with pytest.raises(ConfigError, match="unknown setting") as caught:
            refuse()
        assert len(str(caught.value)) < 1500
    with pytest.raises(ConfigError, match="and 49,990 more"):
        validated(dict.fromkeys(names, 1))


def test_crlf_line_ends_and_a_byte_order_mark_are_accepted(tmp_path):
    (tmp_path / "old.toml").write_bytes(b"\xef\xbb\xbfwindow = 3\r\nthreads = 2\r\nepochs = 4\n")
    assert read_toml(tmp_path / "old.toml") == {"window": 3, "threads": 2, "epochs": 4, "options": {}}


def test_options_have_the_origin_of_the_source_that_gave_them(tmp_path):
    path, model = toml(tmp_path, "[options]\nnegative = 7\npool = 0\n"), {"options": {"pool": 256, "ns_exponent": 1}}
    origins = {"ns_exponent": "--init-from", "negative": "command line", "pool": str(path)}
    assert resolve({"options": {"negative": "3"}}, {}, path, model)[1]["options"] == origins
    variables = {"W2VTRAIN_NEGATIVE": "3", "W2VTRAIN_NS_EXPONENT": "x"}
    assert resolve({"epochs": "2"}, variables)[1]["options"] == {
        "negative": "W2VTRAIN_NEGATIVE", "ns_exponent": "W2VTRAIN_NS_EXPONENT",
    }  # fmt: skip
    assert resolve({"epochs": "2", "objective": "hs"}, {}, None, {"objective": "neg", **model})[1]["options"] == {}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"alpha": 0}, "alpha: 0 would learn nothing"),
        ({"seconds": "0"}, "seconds: 0 would learn nothing"),
        ({"alpha": 0.01, "min_alpha": "0.02"}, "min_alpha: 0.02 is more than alpha, 0.01"),
    ],
)
def test_rules_between_settings_hold_for_every_source(tmp_path, values, message):
    text = "\n".join(f"{name} = {value}" for name, value in values.items())
    for refuse in (
        lambda: validated(values),
        lambda: resolve(values, {}),
        lambda: resolve({}, {f"W2VTRAIN_{name.upper()}": str(value) for name, value in values.items()}),
        lambda: resolve({}, {}, toml(tmp_path, text)),
        lambda: effective(Settings(**{name: float(value) for name, value in values.items()})),
    ):
        with pytest.raises(ConfigError, match=message):
            refuse()


def test_patience_needs_heldout_text():
    settings = validated({"patience": 3})
    assert broken_rules(settings) == []
    check_patience(settings, heldout=True)
    with pytest.raises(ConfigError, match="patience: needs heldout"):
        check_patience(settings, heldout=False)
    check_patience(Settings(), heldout=False)


def test_a_missing_file_and_an_unknown_environment_variable_are_refused(tmp_path):
    with pytest.raises(InputMissing):
        read_toml(tmp_path / "none.toml")
    with pytest.raises(ConfigError, match="did you mean 'W2VTRAIN_WINDOW'"):
        resolve({}, {"W2VTRAIN_WINDWO": "3"})
    with pytest.raises(ConfigError, match="use W2VTRAIN_EPOCHS"):  # fastText's name is epoch
        resolve({}, {"W2VTRAIN_EPOCH": "3"})


@given(st.dictionaries(st.sampled_from(sorted(ROWS)), st.one_of(st.integers(), st.floats(), st.text(), st.none())))
def test_any_value_is_accepted_or_refused_in_one_line(values):
    try:
        settings = validated(values)
    except ConfigError as error:
        lines = str(error).splitlines()
        if len(lines) != 1:
            raise AssertionError(lines) from error
        return
    assert settings.window == "sentence" or settings.window >= 1
    assert settings.vector_size >= 1


def test_automatic_rates_depend_on_architecture_and_objective():
    rates = {
        (m, o): effective(validated({"architecture": m, "objective": o})).alpha
        for m in ("skipgram", "cbow")
        for o in ("neg", "hs")
    }
    assert rates["skipgram", "neg"] > rates["skipgram", "hs"]
    settings = effective(Settings())
    assert settings.min_alpha == pytest.approx(settings.alpha * 1e-4)
    assert effective(Settings(alpha=0.3)).alpha == 0.3
    for bad in (Settings(alpha=0.0), Settings(alpha=0.01, min_alpha=0.02), Settings(min_alpha=1.0)):
        with pytest.raises(ConfigError, match="alpha"):
            effective(bad)


def test_automatic_threads_respect_slurm_and_the_cgroup_quota(monkeypatch):
    monkeypatch.setattr(machine, "cgroup_cpus", lambda: None)
    cores, unlimited = automatic_threads({})
    assert cores >= 1
    assert automatic_threads({"SLURM_CPUS_PER_TASK": "1"}) == (1, "SLURM_CPUS_PER_TASK")
    assert automatic_threads({"SLURM_CPUS_PER_TASK": "nonsense"})[0] == cores
    monkeypatch.setattr(machine, "cgroup_cpus", lambda: 0.5)
    assert automatic_threads({}) == (1, "the cgroup's CPU quota")
    monkeypatch.setattr(machine, "cgroup_cpus", lambda: cores + 0.5)
    assert automatic_threads({}) == (cores, unlimited)


def test_peak_memory_and_versions_are_those_of_this_process():
    assert peak_memory() > 1 << 20
    held = np.ones(300 << 20, np.uint8)  # memory of the parent process does not count for its child
    code = "from w2vtrain.system.machine import peak_memory; print(peak_memory())"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert 1 << 20 < int(said) < held.nbytes
    assert versions()["numba"][0].isdigit()


@pytest.mark.parametrize(("other", "name"), SYNONYMS.items())
def test_a_setting_has_the_same_other_names_in_every_source(tmp_path, other, name):
    value = "vlbl" if name == "architecture" else 3
    (tmp_path / "s.toml").write_text(f"{other} = {json.dumps(value)}\n")
    for flags, environment, config, origin in (
        ({other: str(value)}, {}, None, "command line"),
        ({}, {f"W2VTRAIN_{other.upper()}": str(value)}, None, f"W2VTRAIN_{other.upper()}"),
        ({}, {}, tmp_path / "s.toml", str(tmp_path / "s.toml")),
    ):
        settings, origins = resolve(flags, environment, config)
        assert (getattr(settings, name), origins[name]) == (value, origin)
    assert getattr(validated({other: value}), name) == value


def test_options_of_objectives_can_be_given_like_settings_in_every_source(tmp_path):
    (tmp_path / "s.toml").write_text('negative = 3\n[objective]\nname = "nce"\noptions = {ns_exponent = 0.5}\n')
    settings, origins = resolve({}, {"W2VTRAIN_LEARN_Z": "true"}, tmp_path / "s.toml")
    assert settings.options == {"negative": 3, "ns_exponent": 0.5, "learn_z": "true"}
    assert origins["options"]["learn_z"] == "W2VTRAIN_LEARN_Z"
    assert resolve({"objective": "neg"}, {}, tmp_path / "s.toml")[0].options == {}  # they belong to nce
    assert resolve({"negative": 4}, {}, tmp_path / "s.toml")[0].options["negative"] == 4


def test_a_value_given_by_two_names_is_refused_within_a_source_and_overridden_by_another(tmp_path):
    for values in ({"epochs": 3, "iter": 4}, {"size": 5, "dim": 5}, {"negative": 3, "options": {"negative": 3}}):
        for refuse in (validated, lambda values: resolve(values, {})):
            with pytest.raises(ConfigError, match=r"give one of them|is given twice"):
                refuse(values)
    doubles = ("vector-size = 5\nvector_size = 6\n", "[options]\nnegative = 3\n[objective.options]\nnegative = 7\n")
    for text in doubles:
        with pytest.raises(ConfigError, match=r"settings\.toml: (vector_size|negative): is given twice"):
            read_toml(toml(tmp_path, text))
    (tmp_path / "s.toml").write_text("iter = 3\n")
    assert resolve({"epochs": "4"}, {}, tmp_path / "s.toml")[0].epochs == 4


@pytest.mark.parametrize(
    ("wrong", "right"), [("worker", "workers"), ("negativ", "negative"), ("vectorsize", "vector_size")]
)
def test_a_wrong_name_gets_the_nearest_name_of_any_kind(wrong, right):
    with pytest.raises(ConfigError, match=f"unknown setting '{wrong}' .did you mean '{right}'"):
        validated({wrong: 3})
