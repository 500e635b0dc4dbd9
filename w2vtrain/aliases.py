"""The names of the built-in architectures, and three older settings that select one.

These settings, the aliases, are accepted wherever settings are. This module does not know how an architecture computes.
"""

from collections.abc import Mapping
from typing import Any

from w2vtrain.errors import ConfigError, label, shown, spelled
from w2vtrain.parsers import Choice, Row, Truth

ARCHITECTURES: dict[str, dict[str, Any]] = {
    "skipgram": {"model": "skipgram", "context_weights": False},
    "cbow": {"model": "cbow", "cbow_gradient": "word2vec", "context_weights": False},
    "cbow-corrected": {"model": "cbow", "cbow_gradient": "corrected", "context_weights": False},
    "vlbl": {"model": "cbow", "context_weights": True},
}
"""The built-in architectures, each with the alias values that select it."""
ALIASES = {
    "model": Row(Choice(("skipgram", "cbow")), "Short for --architecture skipgram or cbow."),
    "cbow_gradient": Row(
        Choice(("corrected", "word2vec")), "With --model cbow: short for --architecture cbow-corrected or cbow."
    ),
    "context_weights": Row(Truth(), "With --model cbow: short for --architecture vlbl."),
}
"""The settings table rows of the aliases."""


def option(name: str) -> str:
    """Return the name of a setting's command-line option, without the leading hyphens."""
    return name.replace("_", "-")


def overlaid(values: Mapping[str, Any], layer: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values, overridden by those of a layer that takes precedence.

    An architecture in the layer removes the aliases from the values. If the layer has aliases and the values have an
    architecture, the architecture is first replaced by the aliases that select it, and then these are overridden.
    """
    found = dict(values)
    if "architecture" in layer:
        found = {name: value for name, value in found.items() if name not in ALIASES}
    elif ALIASES.keys() & layer.keys() and "architecture" in found:
        del found["architecture"]
        found |= _meant(values) or {}
    return found | dict(layer)


def translated(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values with `architecture` in place of `model`, `cbow_gradient` and `context_weights`.

    Raise ConfigError if these contradict each other or an architecture that is also among the values.
    """
    given = {name: values[name] for name in ALIASES if name in values}
    found = {name: value for name, value in values.items() if name not in ALIASES}
    if "architecture" in found:
        meant = _meant(found)
        for name, value in given.items():
            if meant is None or meant.get(name, value) != value:
                raise ConfigError(
                    f"{label(name)}: {shown(value)} contradicts architecture {shown(found['architecture'])};"
                    f" leave out {spelled(name)}"
                )
    elif given:
        found["architecture"] = _architecture(**given)
    return found


def _meant(values: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the alias values that select the architecture; None if there are none."""
    name = values.get("architecture")
    return ARCHITECTURES.get(name) if isinstance(name, str) else None


def _architecture(model: str = "skipgram", cbow_gradient: str = "word2vec", context_weights: bool = False) -> str:
    if context_weights:
        if model != "cbow":
            raise ConfigError(
                f"{label('context_weights')}: skip-gram has no context positions; add {spelled('model', 'cbow')}"
            )
        return "vlbl"
    return "cbow-corrected" if (model, cbow_gradient) == ("cbow", "corrected") else model


def check_gradient(architecture: str) -> None:
    """Raise ConfigError if --cbow-gradient would have no effect."""
    if architecture == "vlbl":
        raise ConfigError(
            f"{label('cbow_gradient')}: has no effect with {spelled('context_weights')}, which uses a weighted sum, not"
            " a mean"
        )
    if "cbow_gradient" not in ARCHITECTURES.get(architecture, {}):
        raise ConfigError(f"{label('cbow_gradient')}: does not apply to {architecture}; add {spelled('model', 'cbow')}")
