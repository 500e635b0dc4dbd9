"""The command `resume`: what a run's folder says was requested, and `fit` once more.

It checks what the folder says as if a stranger had written it, and trains nothing itself.
"""

import math
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_type_hints

from w2vtrain.architectures import architecture_class
from w2vtrain.commands.fit import fit, without_effect
from w2vtrain.commands.request import FitRequest
from w2vtrain.config import validated
from w2vtrain.errors import ConfigError, DataError, InputMissing, shown
from w2vtrain.permission import Named
from w2vtrain.registry import CodeNotAllowed
from w2vtrain.training.journal import CONFIG
from w2vtrain.training.run_folder import stored


def resume(folder: str, quiet: bool, force: bool, allow_changed: bool, named: Named, cache_dir: str | None) -> None:
    """Continue a run that was stopped or killed, as it was requested then.

    named: the run's objective and architecture if these are files or modules, whose code runs only if named again;
    cache_dir: the folder for the encoded corpus, which is named anew, too, because the run's folder may be foreign.
    """
    run = Path(folder).resolve()
    journal = stored(run)
    named.allow()  # a relative name is meant here, not in the folder that the run was started in
    cache = str(Path(cache_dir).resolve()) if cache_dir else None
    cwd = journal.about["cwd"]
    try:
        os.chdir(cwd)
    except (OSError, TypeError, ValueError) as error:
        raise InputMissing(f"{shown(cwd)}: the folder that the run was started in is gone") from error
    request = asked_before(run, journal.about)
    asked = replace(request, quiet=quiet, force=force, allow_changed=allow_changed, cache_dir=cache)
    fit(asked, environment={}, resumed=True)


def asked_before(run: Path, about: dict[str, Any]) -> FitRequest:
    """Return what a run's folder says was requested; DataError if it does not.

    Names are relative to the folder that the run was started in, which must be the working folder.
    """
    try:
        settings = validated(about["settings"])
        architecture_class(settings.architecture)  # its existence
        mistakes = without_effect(settings)  # these would be, given on the command line
        flags = {name: value for name, value in vars(settings).items() if value is not None and name not in mistakes}
        request = FitRequest(**{**about["request"], "flags": flags, "config": None, "run": str(run)})
    except CodeNotAllowed:
        raise
    except (KeyError, TypeError, AttributeError, ValueError, ConfigError) as error:
        raise DataError(f"{run}: its {CONFIG} is damaged: {error}; remove the folder to start over") from error
    wanted = get_type_hints(FitRequest)
    for name, value in vars(request).items():
        if not _fits(value, wanted[name]):
            what = f"{name} is {shown(value)}"
            raise DataError(f"{run}: its {CONFIG} is damaged: {what}; remove the folder to start over")
    return request


def _fits(value: Any, hint: Any) -> bool:
    """Return whether JSON gave what a field of FitRequest holds; texts must be possible names of files."""
    kind: Any = {Sequence[str]: list, dict[str, Any]: dict, float: (int, float)}.get(hint, hint)
    try:
        for text in value if kind is list else [value] if isinstance(value, str) else []:
            if b"\0" in os.fsencode(text):
                return False
        return isinstance(value, kind) and (kind != (int, float) or math.isfinite(float(value)))
    except (TypeError, ValueError, OverflowError):
        return False
