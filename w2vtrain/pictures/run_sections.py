"""The sections of a report about the run: how it ended, settings and origins, time, machine, and how to repeat it."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from w2vtrain.config import FIELDS
from w2vtrain.errors import DataError
from w2vtrain.pictures.chart import COLORS
from w2vtrain.pictures.curves import curves_svg
from w2vtrain.pictures.page import escaped, lacks, pairs, table
from w2vtrain.pictures.run_logs import read_run
from w2vtrain.pictures.subject import Subject
from w2vtrain.system.amounts import duration, size_text

PLACES = {"command line": 0, "--init-from": 2, "chosen automatically": 3}
"""The place of settings in the table, by their origin; those of files and variables have OTHER_PLACE."""
OTHER_PLACE = 1


def verdict(subject: Subject) -> str:
    """Return in one sentence how the run ended, or what is known about it."""
    if subject.status:
        done = subject.status.get("progress")
        share = (
            f", and {done:.1%} of the training is saved" if isinstance(done, float) else ", before its first checkpoint"
        )
        return f"Not finished: the run is {subject.status['status']}{share}."
    epochs, speed = subject.epochs(), subject.fact("words_per_second")
    if not epochs:
        return f"{'The course of training' if subject.settings else 'How these vectors were trained'} is not recorded."
    parts = [f"Finished: {len(epochs):,} epoch{'s' * (len(epochs) != 1)}"]
    if (training := subject.fact("seconds", "training")) is not None:
        parts[0] += f" in {duration(training)} of training" + (f" at {speed:,.0f} words/s" if speed else "")
    losses = [loss for epoch in epochs if isinstance(loss := epoch.get("loss"), float)]
    if len(losses) > 1:
        change = "fell" if losses[-1] < losses[0] else "rose"
        parts.append(f"the mean loss {change} from {losses[0]:.3f} to {losses[-1]:.3f}")
    best = subject.fact("best_epoch", of=int)
    scored = heldout(epochs[best - 1]) if best and 0 < best <= len(epochs) else None
    if scored:
        parts.append(f"held-out perplexity {scored:,.0f}, lowest in epoch {best}")
    return "; ".join(parts) + "."


def heldout(epoch: Mapping[str, Any]) -> float | None:
    """Return the held-out perplexity of an epoch, if it has one."""
    score = epoch.get("heldout")
    value = score.get("perplexity") if isinstance(score, Mapping) else None
    return value if isinstance(value, float) and math.isfinite(value) else None


def curves_of_training(subject: Subject) -> str:
    """Return the curves of loss, learning rate, speed and held-out perplexity."""
    if not (subject.log or subject.epochs()):
        return lacks("The curves of training are not recorded.")
    try:
        run = read_run(subject.curves)
    except DataError as error:
        return lacks(str(error))
    return curves_svg([run])


def settings(subject: Subject) -> str:
    """Return the settings: those that were given or chosen, with their origins, and then the defaults."""
    if not subject.settings:
        return lacks("The settings are not recorded in this file, nor in a record beside it.")
    rows = _with_origins(subject)
    rest = pairs((escaped(name), _value(value)) for name, value, origin in rows if origin == "default")
    chosen = [row for row in rows if row[2] != "default"]
    chosen.sort(key=lambda row: PLACES.get(row[2], OTHER_PLACE))
    cells = [[escaped(name), _value(value), escaped(origin)] for name, value, origin in chosen]
    known = subject.fact("origins", of=dict)
    note = "" if known else lacks("The origin of each setting is not recorded.")
    defaults = f'<h3>Defaults</h3><div class="defaults">{rest}</div>' if rest else ""
    return note + (table(["setting", "value", "origin"], cells, right=(1,)) if cells else "") + defaults


def _with_origins(subject: Subject) -> list[tuple[str, Any, str]]:
    """Return the name, the value and the origin of each setting and option that has a value."""
    known = subject.fact("origins", of=dict) or {}
    options, of_options = subject.settings.get("options"), known.get("options")
    of_options = of_options if isinstance(of_options, dict) else {}
    rows = [
        (str(name), value, str(known.get(name) or ("default" if _is_default(name, value) else "unknown")))
        for name, value in subject.settings.items()
        if name != "options" and value is not None
    ]
    if isinstance(options, dict):
        rows += [(f"{name} (option)", value, str(of_options.get(name) or "unknown")) for name, value in options.items()]
    return rows


def _is_default(name: str, value: Any) -> bool:
    return name in FIELDS and bool(FIELDS[name].default == value)


def _value(value: Any) -> str:
    """Return the value of a setting as HTML."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, int):
        return "automatic" if value == -1 else f"{value:,}"
    return f"{value:g}" if isinstance(value, float) else escaped(value)


def time_and_memory(subject: Subject) -> str:
    """Return the time of each phase, and the memory."""
    phases = [
        (str(name), float(value))
        for name, value in (subject.fact("seconds", of=dict) or {}).items()
        if isinstance(value, (int, float)) and math.isfinite(value) and value >= 0
    ]
    times = _phases(phases) if phases else lacks("The time per phase is not recorded.")
    peak, cpu = subject.fact("peak_memory_bytes"), subject.fact("words_per_cpu_second")
    size = subject.vectors.matrix.nbytes if subject.vectors else None
    parameters = subject.fact("output_parameters", of=int)
    left = subject.status.get("seconds_left")
    rows = [
        ("training time left, as of the checkpoint", duration(left) if isinstance(left, float) else None),
        ("words per CPU second, of all threads", f"{cpu:,.0f}" if cpu else None),
        ("peak memory of the process", size_text(peak) if peak else None),
        ("these vectors", size_text(size) if size else None),
        ("parameters of the output layer", f"{parameters:,}" if parameters else None),
    ]
    return times + pairs(rows)


def _phases(phases: Sequence[tuple[str, float]]) -> str:
    """Return the time per phase as a bar and as a table."""
    total = sum(value for _, value in phases) or 1.0
    pieces, at = [], 0.0
    rows = []
    for number, (name, value) in enumerate(phases):
        color, width = f"var(--{COLORS[number % len(COLORS)]})", 1000 * value / total
        pieces.append(f'<rect x="{at:.1f}" width="{max(0.0, width - 2):.1f}" height="22" fill="{color}"/>')
        square = f'<rect width="12" height="12" fill="{color}"/>'
        swatch = f'<svg class="swatch" width="12" height="12" aria-hidden="true">{square}</svg>'
        rows.append([f"{swatch}{escaped(name)}", duration(value), f"{value / total:.0%}"])
        at += width
    picture = (
        '<svg class="phases" viewBox="0 0 1000 22" preserveAspectRatio="none" aria-hidden="true">'
        f"{''.join(pieces)}</svg>"
    )
    return picture + table(["phase", "time", "share"], [*rows, ["total", duration(total), "100%"]], right=(1, 2))


def machine(subject: Subject) -> str:
    """Return the machine and the versions of the software."""
    known, versions = subject.fact("machine", of=dict) or {}, subject.fact("versions", of=dict) or {}
    started = next((event for event in subject.log if event["event"] == "start"), {})
    if not versions and isinstance(started.get("versions"), dict):
        versions = started["versions"]
    if not known and not versions:
        return lacks("The machine and the versions are not recorded.")
    memory, cores = known.get("memory_bytes"), known.get("cores")
    threads = subject.settings.get("threads")
    rows = [
        ("processor", escaped(known["processor"]) if known.get("processor") else None),
        ("cores that the run could use", f"{cores:,}" if isinstance(cores, int) else None),
        ("threads of the run", escaped(threads) if threads else None),
        ("memory of the machine", size_text(memory) if isinstance(memory, int) else None),
        *((escaped(name), escaped(version)) for name, version in versions.items()),
    ]
    missing = "" if known else lacks("The processor is not recorded.")
    return missing + pairs(rows)


def reproduce(subject: Subject) -> str:
    """Return the commands that repeat and continue the run."""
    parts = []
    if subject.command:
        parts.append(f"<p>This command repeats the run, in the same folder:</p><pre>{escaped(subject.command)}</pre>")
        threads = subject.settings.get("threads")
        same = (
            "With one thread and the same versions, it gives the same bytes."
            if threads == 1
            else f"With {escaped(threads)} threads, vectors differ slightly from run to run; with one thread and the"
            " same versions, they do not."
        )
        parts.append(f'<p class="muted">{same}</p>')
    else:
        parts.append(lacks("The command is not recorded here; the record that fit writes beside its vectors has it."))
    if subject.status:
        parts.append(f"<p>This command continues the run:</p><pre>{escaped(subject.status['command'])}</pre>")
    return "".join(parts)
