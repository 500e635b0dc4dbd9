"""The aliases model, cbow_gradient and context_weights select an architecture in every source of settings."""

import json

import pytest

from w2vtrain.aliases import ARCHITECTURES, overlaid, translated
from w2vtrain.config import resolve, validated
from w2vtrain.errors import ConfigError
from w2vtrain.training.fit import effective

MEANINGS = [
    ({"model": "skipgram"}, "skipgram"),
    ({"model": "cbow"}, "cbow"),
    ({"model": "cbow", "cbow_gradient": "word2vec"}, "cbow"),
    ({"model": "cbow", "cbow_gradient": "corrected"}, "cbow-corrected"),
    ({"model": "cbow", "context_weights": True}, "vlbl"),
    ({"model": "cbow", "context_weights": False}, "cbow"),
    ({"context_weights": False}, "skipgram"),
]


def toml(folder, values):
    path = folder / "settings.toml"
    path.write_text("".join(f"{name} = {json.dumps(value)}\n" for name, value in values.items()))
    return path


def in_environment(values):
    return {f"W2VTRAIN_{name.upper()}": str(value) for name, value in values.items()}


@pytest.mark.parametrize(("values", "architecture"), MEANINGS)
def test_aliases_select_an_architecture_in_every_source(tmp_path, values, architecture):
    path = toml(tmp_path, values)
    for flags, environment, config, origin in (
        ({name: str(value) for name, value in values.items()}, {}, None, "command line"),
        ({}, in_environment(values), None, f"W2VTRAIN_{list(values)[-1].upper()}"),
        ({}, {}, path, str(path)),
    ):
        settings, origins = resolve(flags, environment, config)
        assert (settings.architecture, origins["architecture"]) == (architecture, origin)
    assert validated(values).architecture == architecture
    assert translated({**values, "window": 3}) == {"architecture": architecture, "window": 3}


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_an_architecture_may_be_given_together_with_its_own_aliases(architecture):
    values = {"architecture": architecture}
    assert translated(values) == values
    assert translated({**values, **ARCHITECTURES[architecture]}) == values
    assert translated(ARCHITECTURES[architecture]) == values
    assert effective(validated(values))[0].architecture == architecture


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"architecture": "cbow", "model": "skipgram"}, "model: 'skipgram' contradicts architecture 'cbow'"),
        ({"architecture": "cbow-corrected", "cbow_gradient": "word2vec"}, "cbow_gradient: 'word2vec' contradicts"),
        ({"architecture": "cbow", "context_weights": True}, "contradicts architecture 'cbow'; leave out context_w"),
        ({"architecture": "vlbl", "context_weights": False}, "context_weights: False contradicts"),
        ({"architecture": "./mine.py", "model": "cbow"}, "contradicts architecture './mine.py'"),
        ({"context_weights": True}, "context_weights: skip-gram has no context positions; add model='cbow'"),
        ({"model": "skipgram", "context_weights": True}, "skip-gram has no context positions"),
    ],
)
def test_contradictions_are_refused_in_every_source(tmp_path, values, message):
    for refuse in (
        lambda: validated(values),
        lambda: translated(values),
        lambda: resolve(values, {}),
        lambda: resolve({}, in_environment(values)),
        lambda: resolve({}, {}, toml(tmp_path, values)),
    ):
        with pytest.raises(ConfigError, match=message) as caught:
            refuse()
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("file", "flags", "architecture"),
    [
        ({"architecture": "cbow"}, {"cbow_gradient": "corrected"}, "cbow-corrected"),
        ({"architecture": "cbow"}, {"context_weights": True}, "vlbl"),
        ({"architecture": "vlbl"}, {"context_weights": False}, "cbow"),
        ({"architecture": "cbow-corrected"}, {"model": "skipgram"}, "skipgram"),
        ({"architecture": "cbow"}, {"architecture": "vlbl"}, "vlbl"),
        ({"model": "cbow", "context_weights": True}, {"architecture": "skipgram"}, "skipgram"),
        ({"cbow_gradient": "corrected"}, {"model": "cbow"}, "cbow-corrected"),
    ],
)
def test_a_later_source_overrides_an_earlier_one(tmp_path, file, flags, architecture):
    settings, origins = resolve(flags, {}, toml(tmp_path, file))
    assert (settings.architecture, origins["architecture"]) == (architecture, "command line")
    assert translated(overlaid(file, flags))["architecture"] == architecture


def test_context_weights_from_a_file_still_need_cbow(tmp_path):
    with pytest.raises(ConfigError, match="skip-gram has no context positions"):
        resolve({"model": "skipgram"}, {}, toml(tmp_path, {"architecture": "vlbl"}))


def test_a_cbow_gradient_without_effect_is_refused_only_on_the_command_line(tmp_path):
    for more, message in (
        ({}, "cbow_gradient: does not apply to skipgram; add model='cbow'"),
        ({"architecture": "vlbl"}, "no effect with context_weights"),
    ):
        values = {"cbow_gradient": "corrected", **more}
        with pytest.raises(ConfigError, match=message):
            resolve(values, {})
        assert validated(values).architecture == more.get("architecture", "skipgram")
        resolve({}, {}, toml(tmp_path, values))
