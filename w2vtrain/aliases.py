"""The architectures' names, and the three settings that named them before: aliases wherever settings come from.

How an architecture computes is not known here.
"""

from collections.abc import Mapping
from typing import Any

from w2vtrain.errors import ConfigError, shown
from w2vtrain.parsers import Choice, Row, Truth

ARCHITECTURES: dict[str, dict[str, Any]] = {
    "skipgram": {"model": "skipgram", "context_weights": False},
    "cbow": {"model": "cbow", "cbow_gradient": "word2vec", "context_weights": False},
    "cbow-corrected": {"model": "cbow", "cbow_gradient": "corrected", "context_weights": False},
    "vlbl": {"model": "cbow", "context_weights": True},
}
"""The architectures, each in the words of the aliases."""
ALIASES = {
    "model": Row(Choice(("skipgram", "cbow")), "Short for --architecture skipgram or cbow."),
    "cbow_gradient": Row(
        Choice(("corrected", "word2vec")), "Short for --architecture cbow-corrected or cbow, with --model cbow."
    ),
    "context_weights": Row(Truth(), "Short for --architecture vlbl, with --model cbow."),
}
"""The rows of the former settings, which are taken wherever settings are."""


def option(name: str) -> str:
    """Return the name of a setting's option, without the hyphens in front."""
    return name.replace("_", "-")


def overlaid(values: Mapping[str, Any], layer: Mapping[str, Any]) -> dict[str, Any]:
    """Return values, changed by those of a layer that takes precedence.

    An architecture in the layer replaces aliases among the values; aliases in the layer change the values' architecture
    as they would change the aliases that it stands for.
    """
    found = dict(values)
    if "architecture" in layer:
        found = {name: value for name, value in found.items() if name not in ALIASES}
    elif ALIASES.keys() & layer.keys() and "architecture" in found:
        del found["architecture"]
        found |= _meant(values) or {}
    return found | dict(layer)


def translated(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values with `architecture` in place of `model`, `cbow_gradient` and `context_weights`.

    ConfigError if these contradict each other, or an architecture that is among the values, too.
    """
    given = {name: values[name] for name in ALIASES if name in values}
    found = {name: value for name, value in values.items() if name not in ALIASES}
    if "architecture" in found:
        meant = _meant(found)
        for name, value in given.items():
            if meant is None or meant.get(name, value) != value:
                raise ConfigError(
                    f"{option(name)}: {shown(value)} contradicts architecture {shown(found['architecture'])};"
                    f" leave out --{option(name)}"
                )
    elif given:
        found["architecture"] = _architecture(**given)
    return found


def _meant(values: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the aliases' values that the architecture stands for; None if there are none."""
    name = values.get("architecture")
    return ARCHITECTURES.get(name) if isinstance(name, str) else None


def _architecture(model: str = "skipgram", cbow_gradient: str = "word2vec", context_weights: bool = False) -> str:
    if context_weights:
        if model != "cbow":
            raise ConfigError("context-weights: skip-gram has no positions; say --model cbow, too")
        return "vlbl"
    return "cbow-corrected" if (model, cbow_gradient) == ("cbow", "corrected") else model


def check_gradient(architecture: str) -> None:
    """Raise ConfigError if a gradient that the command line asks for would have no effect."""
    if architecture == "vlbl":
        raise ConfigError("cbow-gradient: has no effect with --context-weights, whose sum is no mean")
    if "cbow_gradient" not in ARCHITECTURES.get(architecture, {}):
        raise ConfigError(f"cbow-gradient: {architecture} has none; say --model cbow, too")
