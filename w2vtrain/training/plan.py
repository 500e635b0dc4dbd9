"""What a run will do: `Plan.of` fills in the settings that nobody chose, and refuses what cannot work.

The text is not read here: trainer.py carries out a plan.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from w2vtrain.architectures import architecture_class
from w2vtrain.config import HERE, INIT_FROM, Settings, broken_rules
from w2vtrain.errors import ConfigError, DataError, check_all, label, spelled
from w2vtrain.formats.subwords import Ngrams
from w2vtrain.objectives import check_options, checked_options, engine_of, objective_class, objective_defaults
from w2vtrain.registry import CodeNotAllowed
from w2vtrain.system.machine import threads_of
from w2vtrain.text.source import File
from w2vtrain.training.engine_parts import check_architecture, shrinks
from w2vtrain.training.inputs import Generator, Inputs, corpus_of, heldout_of


@dataclass(frozen=True)
class Plan:
    """What a run reads and learns. `Plan.of` checks that both fit each other; `train` does not check it again.

    inputs: the text, and what the run starts from; settings: all of them, with automatic values filled in.
    """

    inputs: Inputs
    settings: Settings

    @staticmethod
    def of(inputs: Inputs, asked: Settings) -> "Plan":
        """Return the plan of a run. Raise the errors of `effective`, `Inputs.check` and `check_options`."""
        generator = inputs.sources if isinstance(inputs.sources, Generator) else None
        settings = effective(asked, generator.rate_factor if generator else 1.0)
        check_all(partial(inputs.check, settings), partial(check_options, settings, files=False))
        return Plan(inputs, settings)

    def files(self) -> list[File]:
        """Return the text files that the run reads. They are opened, but not read.

        Raise InputMissing, DataError or UsageError for those that cannot be read, and for the table of phrases.
        """
        corpus, heldout = check_all(
            lambda: corpus_of(self.inputs.sources, self.settings).files,
            lambda: heldout_of(self.inputs.heldout, self.settings).files if self.inputs.heldout else (),
        )
        return [*corpus, *heldout]


def check_origins(settings: Settings, origins: Mapping[str, Any], start: str = "") -> None:
    """Raise ConfigError for an unknown objective, and for an architecture or an option from a file, which it names.

    origins: see `config.resolve`; start: the name of the model that a run starts from. Raise DataError for the model's.
    """

    def check_values() -> None:
        options = checked_options(settings.objective, settings.options)
        check_options(replace(settings, options=options), files=False)

    checks: dict[str, Callable[[], Any]] = {
        "objective": partial(objective_class, settings.objective), "options": check_values,
        "architecture": partial(architecture_class, settings.architecture),
    }  # fmt: skip
    for name, check in checks.items():
        if name == "architecture" and origins[name] in HERE:
            continue
        try:
            check()
        except CodeNotAllowed:
            raise
        except ConfigError as error:
            origin = origins[name]
            if name == "options":  # an error may name no option, or one that was not given
                given = set(origin.values())
                origin = origin.get(getattr(error, "option", ""), given.pop() if len(given) == 1 else "default")
                if origin in HERE:
                    continue  # checked with all that the command line names
            elif origin in HERE:
                raise
            if origin == INIT_FROM:
                raise DataError(f"{start}: its settings: {error}") from error
            raise ConfigError(f"{origin}: {error}") from error


def effective(settings: Settings, rate_factor: float = 1.0) -> Settings:
    """Return the settings with all automatic values filled in. rate_factor: of the default learning rate.

    Raise ConfigError if the architecture, the objective or one of its options does not exist, or if settings break a
    rule.
    """
    options = checked_options(settings.objective, settings.options)
    known, architecture = objective_defaults(settings.objective), architecture_class(settings.architecture)
    defaults = known.get(settings.architecture, known[architecture.like()])
    check_architecture(settings)
    values = {"block": 32, **defaults, "alpha": defaults["alpha"] * rate_factor, "shrink_windows": shrinks(settings)}
    # What is left out here, None, is the default of all settings without a value above.
    values |= {name: value for name, value in vars(settings).items() if value is not None}
    values.setdefault("min_alpha", values["alpha"] * 1e-4)
    done = Settings(**(values | {"options": options, "threads": threads_of(settings.threads)[0]}))
    if problems := broken_rules(done):
        raise ConfigError("; ".join(problems))
    return done


def without_effect(settings: Settings) -> dict[str, str]:
    """Return the settings that have no effect with this objective, each with the error message for its use."""
    reasons = {}
    if engine_of(settings.objective) == "windows":
        reasons["block"] = (
            f"{label('block')}: objective {settings.objective} trains window by window and has no blocks; leave it out"
        )
    if not architecture_class(settings.architecture).uses_words():
        reasons |= {
            name: f"{label(name)}: has no effect on {settings.architecture}, whose documents predict all their words"
            for name in ("window", "shrink_windows", "context")
        }
    if not settings.subwords:
        without = f"has no effect without {spelled('subwords', True)}"
        reasons |= {name: f"{label(name)}: {without}" for name in Ngrams._fields}
    return reasons
