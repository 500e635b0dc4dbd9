"""Compare objectives, each trained by the same program on the same text within the same budget.

Every trial runs in its own process: see trial.py. Its result is kept in a file, and until then its checkpoints are kept
in a folder beside it, so that an interrupted comparison can resume. comparison_tables.py turns the results into tables,
and comparison_picture.py plots them.
"""

import math
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from w2vtrain.config import Settings, validated
from w2vtrain.errors import ConfigError, Diverged, Relayed, W2VError, spelled
from w2vtrain.leaves.compare import comparison_tables
from w2vtrain.leaves.compare.comparison_picture import picture
from w2vtrain.leaves.compare.comparison_tables import perplexity
from w2vtrain.leaves.compare.contenders import Contender, without_budget
from w2vtrain.leaves.compare.result import check_result
from w2vtrain.leaves.compare.trial import Trial, child, kept_beside
from w2vtrain.leaves.figures import can_draw
from w2vtrain.system.children import ChildEnded, each, run_child
from w2vtrain.system.files import atomic_write, write_json
from w2vtrain.system.json_text import json_object, json_text
from w2vtrain.system.reading import read_small
from w2vtrain.training.fingerprint import other_inputs
from w2vtrain.training.plan import effective

MAX_RESULT_BYTES = 16 << 20
"""Maximum size of a result file in bytes."""
REMEDY = "; remove it to train again"
RUNS = "runs"
"""The folder of the results in the folder of a comparison."""
REPORTS = ("compare.json", "table.md", "table.csv", "curves.png")
"""The files that are written when all results are there."""


@dataclass(frozen=True)
class Comparison:
    """The contenders, the texts and the settings of a comparison.

    settings: whose `seconds`, if any, are CPU seconds of training; heldout: text scored after each epoch, or at
    fractions of a time limit; test: text scored at the end, by default that of heldout; rates: learning rates to try
    for each contender that sets none, such as "0.05" or, as a multiple of the contender's default, "2x"; tune_seconds:
    CPU seconds of each try; contents: checksums of the files that all trials read, by name.
    """

    sources: Sequence[str]
    heldout: str
    folder: Path
    settings: Settings
    contenders: list[Contender]
    seeds: int = 1
    test: str | None = None
    questions: str | None = None
    pairs: Sequence[str] = ()
    rates: Sequence[str] = ()
    tune_seconds: float = 20.0
    at_once: int = 1
    contents: Mapping[str, str | int] = field(default_factory=dict)


def trials(comparison: Comparison, rates: dict[str, list[float]]) -> Iterator[Trial]:
    """Yield every trial of a comparison; for each seed, contenders take turns, because machine speed drifts.

    rates: the learning rates of contenders, of which the first is used.
    """
    for seed in range(1, comparison.seeds + 1):
        for contender in comparison.contenders:
            more = {"alpha": rates[contender.name][0]} if contender.name in rates else {}
            yield _trial(comparison, contender, f"{contender.name} seed {seed}", {"seed": seed, **more})


def _trial(comparison: Comparison, contender: Contender, name: str, more: dict[str, Any]) -> Trial:
    base, own = asdict(comparison.settings), {**contender.settings, **more}
    shared = base.pop("options") if own["objective"] == base["objective"] else {}
    own["options"] = {**shared, **own.get("options", {})}
    settings = effective(validated({**base, **own}))
    if settings.seconds is not None and settings.patience is not None:
        raise ConfigError(
            f"patience: no epoch of {contender.name} is scored, because its time is limited; leave out"
            f" {spelled('patience')} or {spelled('seconds')}"
        )
    c = comparison
    contents = dict(c.contents) | other_inputs(settings, None)
    return Trial(
        name, list(c.sources), c.heldout, asdict(settings), c.test, c.questions, list(c.pairs), contents=contents
    )  # fmt: skip


def tuning(comparison: Comparison) -> Iterator[tuple[list[str], list[Trial]]]:
    """Yield the names of contenders that need a learning rate, with one short trial per rate to try.

    Contenders that differ only in their budget share their rate.
    """
    groups: dict[str, list[Contender]] = {}
    for contender in comparison.contenders:
        if comparison.rates and "alpha" not in contender.settings:
            groups.setdefault(without_budget(contender.name), []).append(contender)
    for name, group in groups.items():
        tries = []
        for rate in rates_of(comparison, group[0]):
            more = {"alpha": rate, "seconds": comparison.tune_seconds, "epochs": 1_000_000, "patience": None}
            trial = _trial(comparison, group[0], f"{name} alpha {rate:g}", more)
            tries.append(replace(trial, questions=None, pairs=[], test=None, brief=True))
        yield [contender.name for contender in group], tries


def rates_of(comparison: Comparison, contender: Contender) -> list[float]:
    """Return the learning rates to try for a contender, each once and with the digits that names of trials show."""
    default = _trial(comparison, contender, contender.name, {}).settings["alpha"]
    rates = [default * float(rate[:-1]) if rate.endswith("x") else float(rate) for rate in comparison.rates]
    return list(dict.fromkeys(float(f"{rate:g}") for rate in rates))


def train_all(comparison: Comparison, say: Callable[[str], None]) -> list[dict[str, Any]]:
    """Tune learning rates, train and score; return the results of all trials. Results found in the folder are reused.

    A run that diverges at the best of the rates that were tried is trained again at the next lower one.
    """
    total = len(list(trials(comparison, {})))  # finds every wrong setting before training starts
    shared = comparison.settings
    for contender in comparison.contenders:
        if shared.options and contender.settings["objective"] == shared.objective:
            options = ", ".join(f"{key}={value}" for key, value in shared.options.items())
            say(f"{contender.name}: options of the settings, unless it has its own: {options}")
    rates = tuned(comparison, say)
    folder = comparison.folder / RUNS

    def trained(numbered: tuple[int, Trial]) -> dict[str, Any]:
        number, trial = numbered
        kept = result(folder, trial, say, f"{number} of {total}, ")
        for rate in rates.get(comparison_tables.contender_of(trial.name), [])[1:]:
            if perplexity(kept) < math.inf:
                break
            low = rate * trial.settings["min_alpha"] / trial.settings["alpha"]
            settings = trial.settings | {"alpha": rate, "min_alpha": low}
            again = replace(trial, name=f"{trial.name} alpha {rate:g}", settings=settings)
            kept = result(folder, again, say, f"{number} of {total}, ")
        return kept

    return each(trained, list(enumerate(trials(comparison, rates), 1)), comparison.at_once)


def tuned(comparison: Comparison, say: Callable[[str], None]) -> dict[str, list[float]]:
    """Try learning rates; return the best one of each contender, then the lower ones that were tried, highest first."""
    rates: dict[str, list[float]] = {}
    groups = list(tuning(comparison))
    every = [trial for _, tries in groups for trial in tries]
    folder = comparison.folder / "tuning"
    kept = each(lambda trial: result(folder, trial, say), every, comparison.at_once)
    results = dict(zip([trial.name for trial in every], kept, strict=True))
    for names, tries in groups:
        tried = {float(trial.settings["alpha"]): perplexity(results[trial.name]) for trial in tries}
        best = min(tried, key=tried.__getitem__)
        descending = [best, *sorted((rate for rate in tried if rate < best), reverse=True)]
        rates |= dict.fromkeys(names, descending)
        every_one, group = ", ".join(f"{rate:g}" for rate in tried), without_budget(names[0])
        if tried[best] < math.inf:
            say(f"{group}: alpha {best:g} is the best of {every_one}")
        else:
            say(f"{group}: training diverged at every alpha of {every_one}: give lower --rates")
    return rates


def result(folder: Path, trial: Trial, say: Callable[[str], None], prefix: str = "") -> dict[str, Any]:
    """Return the result of a trial: from its file if that exists, otherwise by training it, or the rest of it, now.

    prefix: of the message about the result.

    Raise ConfigError if the file belongs to another trial, and DataError if it is damaged.
    """
    path = folder / f"{re.sub(r'[^A-Za-z0-9_.,=-]', '-', trial.name)}.json"
    if path.exists():
        forget(path)
        kept = json_object(read_small(path, MAX_RESULT_BYTES, remedy=REMEDY), f"{path} is", REMEDY)
        if (before := kept.get("job")) != (job := asdict(trial)):
            only = isinstance(before, dict) and {**before, "contents": trial.contents} == job
            reason = "what it was trained or scored with has changed since" if only else "belongs to another comparison"
            raise ConfigError(f"{path}: {reason}; choose another folder, or remove the file")
        check_result(kept, f"{path}: damaged", REMEDY)
        return kept
    folder.mkdir(parents=True, exist_ok=True)

    def relay(text: str) -> None:
        say(text if text.startswith("warning: ") else f"{prefix}{trial.name}: {text}")

    trained = {"job": asdict(trial), **_train_apart(trial, path, relay)}
    if not path.exists():  # it diverged, or was brief
        write_json(path, trained)
    forget(path)
    say(f"{prefix}{trial.name}: {_described(trained) if 'test' in trained else trained['failed']}")
    return trained


def forget(path: Path) -> None:
    """Delete what a trial has kept beside its result, once that is written."""
    run, curve = kept_beside(path)
    if run.exists():
        shutil.rmtree(run, ignore_errors=True)
    curve.unlink(missing_ok=True)


def _described(kept: dict[str, Any]) -> str:
    """Return the perplexity of a result, the seconds of each phase and a warning if the machine was busy."""
    phases = ", ".join(f"{phase} {seconds:.1f} s" for phase, seconds in kept["seconds"].items())
    text = f"perplexity {perplexity(kept):,.2f}; {phases}; {comparison_tables.cpu_seconds(kept):.1f} CPU s of training"
    return f"{text}; {warning}" if (warning := comparison_tables.busy([kept])) else text


def _train_apart(trial: Trial, path: Path, say: Callable[[str], None]) -> dict[str, Any]:
    """Train in a new process; return the result.

    path: of the result, see `trial.train`; say: is called with each message of the process.
    """
    try:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            trained: dict[str, Any] = run_child(child, [asdict(trial), str(path)], folder, say)
            return trained
    except Relayed as error:
        if error.exit_code == Diverged.exit_code:  # this is a result; any other error ends the comparison
            return {"failed": str(error), "exit_code": error.exit_code}
        raise Relayed(f"{trial.name}: {error}", error.exit_code) from None
    except ChildEnded as ended:
        raise Relayed(
            f"{trial.name}: the process exited with code {ended.code} and no result;"
            f" try again, with fewer {spelled('jobs')} if memory is short",
            ended.exit_code,
        ) from None


def describe_comparison(folder: Path) -> dict[str, Any] | None:
    """Return what is in the folder of a comparison, or None for any other folder.

    Keys: path, kind, status ("complete" or "unfinished"), results (how many) and files.
    """
    written = [name for name in REPORTS if (folder / name).exists()]
    results = sorted(f"{RUNS}/{path.name}" for path in (folder / RUNS).glob("*.json") if _is_result(path))
    if not results and not any((folder / RUNS).glob("*.run/config.json")):
        return None
    status = "complete" if "compare.json" in written else "unfinished"
    files = ", ".join([*written, *results])
    return {"path": str(folder), "kind": "comparison", "status": status, "results": len(results), "files": files}


def _is_result(path: Path) -> bool:
    with suppress(W2VError):
        return "job" in json_object(read_small(path, MAX_RESULT_BYTES), f"{path} is")
    return False


def write_reports(folder: Path, results: list[dict[str, Any]]) -> None:
    """Write compare.json, table.md, table.csv and, if Matplotlib is installed, curves.png to `folder`."""
    texts = {
        "compare.json": json_text(results, indent=True),
        "table.md": comparison_tables.markdown(comparison_tables.table(results)),
        "table.csv": comparison_tables.comma_separated(results),
    }
    for name, text in texts.items():
        with atomic_write(folder / name, force=True) as file:
            file.write(text.encode())
    if can_draw():
        picture(results, folder / "curves.png")
