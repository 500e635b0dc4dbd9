"""The output of a run on standard error (a bar on a terminal, plain lines elsewhere, a summary), and what it logs.

It measures and decides nothing: it turns events into text. log.py writes the JSON log.
"""

import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, fields
from typing import Any

from w2vtrain.architectures import architecture_class
from w2vtrain.commands.fit_request import FitRequest
from w2vtrain.config import Settings
from w2vtrain.embeddings.model import Model
from w2vtrain.formats.subwords import Subwords
from w2vtrain.progress_bar import Bars, loss_text, reading_facts, training_facts
from w2vtrain.system.amounts import duration, size_text
from w2vtrain.system.machine import memory_in_use, versions
from w2vtrain.system.parallel import held_signals
from w2vtrain.system.terminal import echo, one_line
from w2vtrain.text.encoded import EncodedCorpus
from w2vtrain.training.events import Events
from w2vtrain.training.state import Epoch, PerplexityScore, Progress, State

LONG_EPOCH_SECONDS = 5.0
"""Minimum duration in seconds of an epoch whose end is printed; shorter ones appear only in the log and the record."""
BAR_SECONDS = 0.1
"""Seconds between updates of the bar."""

Log = Callable[[dict[str, Any]], None]
Note = Callable[[], tuple[str, dict[str, Any]]]


class Interval:
    """The loss since the last report, and whether the next report is due after `every` seconds."""

    def __init__(self, every: float) -> None:
        self.every, self.last = every, time.monotonic()
        self.loss, self.examples = 0.0, 0

    def due(self) -> bool:
        """Return True once per interval."""
        now = time.monotonic()
        if now - self.last < self.every:
            return False
        self.last = now
        return True

    def add(self, at: Progress) -> None:
        """Add the loss and the examples of an event."""
        self.loss, self.examples = self.loss + at.loss, self.examples + at.examples

    def mean(self) -> float | None:
        """Return the mean loss per example since the last call, or None if there was no example."""
        mean = self.loss / self.examples if self.examples else None
        self.loss, self.examples = 0.0, 0
        return mean


class Console:
    """Print the events of one run.

    quiet: print only errors; every: seconds between progress lines; log: takes the events of the JSON log; note:
    returns what to add to a progress line and to its entry in the log.
    """

    def __init__(
        self, quiet: bool = False, every: float = FitRequest.progress_every, log: Log = lambda facts: None,
        note: Note = lambda: ("", {}),
    ) -> None:  # fmt: skip
        self.quiet, self.log, self.note = quiet, log, note
        self.terminal = sys.stderr.isatty()
        self.shown = Interval(BAR_SECONDS if self.terminal else every)
        self.logged = Interval(every)
        self.bars: Bars | None = None
        self.warnings: list[str] = []
        self.notice = threading.Timer(0, lambda: None)  # not started: no message is pending

    def say(self, text: str) -> None:
        """Print one line, unless quiet."""
        if not self.quiet:
            self._close_bar()
            echo(one_line(text), err=True)

    def events(self) -> Events:
        """Return the callbacks for `fit`: each event is reported by the method of its name, after an underscore."""
        return Events(**{event.name: getattr(self, f"_{event.name}") for event in fields(Events)})

    def start(self, settings: Settings, headline: str, outputs: list[str], run: str = "") -> None:
        """Report the settings and the outputs. The first line of the log has the id of the run."""
        self._log(
            "start", run=run, settings=asdict(settings), outputs=outputs, versions=versions(), process=os.getpid()
        )
        self.say(headline)
        self.say(f"outputs     {', '.join(outputs)}")

    def complete(self, outputs: list[str]) -> None:
        """Report that nothing is left to do: the run was killed after it had written all results."""
        self._log("done", exit_code=0, outputs=outputs)
        self.say("complete    all results were written before the run was killed")

    def _warning(self, sentence: str) -> None:
        """Report something that looks wrong but may be intended."""
        self.keep(sentence)
        self.say(f"warning     {sentence}")

    def keep(self, warning: str) -> None:
        """Log a warning, and keep it for the record of the run."""
        self._log("warning", message=warning)
        self.warnings.append(warning)

    def _log(self, event: str, **facts: Any) -> None:
        self._close_bar()  # the log may be standard output
        self.log({"event": event, **facts})

    def close(self) -> None:
        """Remove the bar and cancel a pending message, also after an error."""
        self.notice.cancel()
        self._close_bar()

    def _close_bar(self) -> None:
        if self.bars:
            self.bars.close()

    def _draw(self, stage: str, text: str, done: int, total: int | None, facts: Sequence[str], line: str) -> None:
        """Draw the bar of a stage, as `Bars` does, or print a line elsewhere than on a terminal."""
        if not self.terminal:
            self.say(line)
            return
        if self.bars is None:
            from tqdm import tqdm

            self.bars = Bars(tqdm)
        self.bars.draw(stage, text, done, total, facts)

    def _compiling(self, sentence: str) -> None:
        self.notice.cancel()
        self._log("compiling", message=sentence)
        self.say(f"kernel      {sentence}")

    def _reading(self, done: int, total: int | None, tokens: int) -> None:
        if not self.quiet and self.shown.due():
            share = f" {done / total:.0%}" if total else ""
            line = f"reading{share}: {done:,} bytes, {tokens:,} words"
            self._draw("reading", "reading", done, total, reading_facts(tokens), line)

    def _subwords(self, rows: Subwords) -> None:
        """Report the rows of n-grams, and how many a word has."""
        ngrams, used, per_word = rows.ngrams, len(rows.buckets), len(rows.rows) / rows.words
        self._log("subwords", ngram_rows=used, rows_per_word=round(per_word, 2))
        self.say(
            f"subwords    {used:,} of {ngrams.bucket:,} buckets have n-grams of {ngrams.minn} to {ngrams.maxn}"
            f" characters; {per_word:.1f} rows per word"
        )

    def _read(self, ids: EncodedCorpus, seconds: float) -> None:
        stats, size = ids.stats, len(ids.vocabulary)
        self.say(
            f"corpus      {stats.token_count:,} words in {stats.lines:,} lines, {stats.bytes_read:,} bytes,"
            f" read in {duration(seconds)}"
        )
        cut = [f"{stats.cut:,} sentences split at --max-sentence"] if stats.cut else []
        for fact in filter(None, [ids.about(), *stats.oddities(), *cut]):
            self.say(f"            {fact}")
        share = ids.words / max(1, stats.token_count)
        self.say(f"vocabulary  {size:,} words, {share:.1%} of the text, which has {stats.types:,} distinct words")
        self.notice = threading.Timer(1.0, self.say, ["weights     initializing ..."])
        self.notice.daemon = True
        with held_signals():
            self.notice.start()

    def _kept(self, words: int, share: float) -> None:
        self.say(f"            subsampling keeps {words:,} words per epoch ({share:.1%})")

    def _started(self, facts: dict[str, Any]) -> None:
        self._log("started_from", **facts)
        new, parts = facts["new_words"], ", ".join(facts["parts"])
        line = f"started     from {facts['name']}: {facts['words']:,} words known, {new:,} new; took {parts}"
        if kept := facts.get("kept_words"):
            line += f"; {kept:,} other words stay as they are"
        if (left_out := facts.get("left_out_words")) and facts["kind"] == "vectors":
            line += f"; {left_out:,} other words are left out (--grow-vocabulary keeps them)"
        self.say(line)

    def _ready(self, seconds: float) -> None:
        self.notice.cancel()
        if seconds > 1:
            self.say(f"kernel      ready after {duration(seconds)}")

    def _training(self, at: Progress) -> None:
        speed = at.words / max(1e-9, at.seconds)
        left = (at.total_words - at.words) / max(1e-9, speed)
        end = at.words >= at.total_words
        self.shown.add(at)
        self.logged.add(at)
        if self.logged.due() or end:
            self._log(
                "progress",
                epoch=at.epoch,
                epochs=at.epochs,
                words=at.words,
                total_words=at.total_words,
                words_per_second=round(speed),
                alpha=at.alpha,
                loss=self.logged.mean(),
                eta=round(left, 1),
                memory_bytes=memory_in_use(),
                **self.note()[1],
            )
        if self.quiet or not (self.shown.due() or (end and not self.terminal)):
            return
        mean = self.shown.mean()
        loss, memory = loss_text(mean), size_text(memory_in_use())
        self._draw(
            "training", f"epoch {at.epoch}", at.words, at.total_words, training_facts(at, mean),
            f"epoch {at.epoch} {at.words / at.total_words:6.1%}  {speed:,.0f} words/s  alpha {at.alpha:.5f}"
            f"  {loss}  {memory}  ETA {duration(left)}{self.note()[0]}",
        )  # fmt: skip

    def _epoch(self, epoch: Epoch, heldout: PerplexityScore | None) -> None:
        score = f"; held-out perplexity {heldout.perplexity:,.2f}" if heldout else ""
        facts = {"heldout": asdict(heldout)} if heldout else {}
        self._log("epoch", epoch=epoch.epoch, loss=epoch.loss, words=epoch.words, seconds=epoch.seconds, **facts)
        if heldout or epoch.seconds >= LONG_EPOCH_SECONDS:
            self.say(f"epoch {epoch.epoch} done, {duration(epoch.seconds)}: {loss_text(epoch.loss)}{score}")

    def _resumed(self, state: State) -> None:
        self._log("resumed", epoch=state.current, chunks=state.chunks)
        place = f"in epoch {state.current}, after {state.chunks:,} of its chunks"
        if state.is_over:
            place = f"after epoch {state.epoch}, with which time or patience ran out"
        self.say(f"resumed     from a checkpoint {place}")

    def stage(self, name: str, done: int, total: int) -> None:
        """Report how much of a stage is done, such as "scoring"."""
        if not self.quiet and self.shown.due():
            self._draw(name, name, done, total, [], f"{name} {done / total:.0%}")

    def _scoring(self, done: int, total: int) -> None:
        self.stage("scoring", done, total)

    def summary(self, model: Model, vectors: str, outputs: list[str], writing: float) -> None:
        """Report what was done, how long each phase took and where the results are. vectors: which were written."""
        record, settings = model.record, model.settings
        self._log("done", exit_code=0, settings=settings, record=record, outputs=outputs)
        unit = "pair" if architecture_class(settings["architecture"]).pairs() else "window"
        epochs = [epoch for epoch in record["epochs"] if epoch["examples"]]
        losses = " -> ".join(f"{epoch['loss']:.4f}" for epoch in [*epochs[:1], *epochs[1:][-1:]])
        seconds = {**record["seconds"], "writing": writing}
        total = sum(seconds.values())
        self.say(f"training    {record['words_per_second']:,.0f} words/s; loss {losses} (mean per {unit}, by epoch)")
        if record.get("best_epoch") not in (None, record["epochs"][-1]["epoch"]):
            self.say(f"vectors     of epoch {record['best_epoch']}, which predicts the held-out text best")
        if vectors == "blend":
            self.say("vectors     blends of input and output vectors: see --export")
        if ranks := record.get("distributed"):
            speeds = ", ".join(f"{speed:,}" for speed in ranks["words_per_second"])
            self.say(
                f"ranks       {ranks['ranks']}, each learns at {speeds} words/s; {ranks['communication']:.0%} of the"
                f" time in communication, {ranks['bytes_per_synchronization']:,} bytes after every"
                f" {ranks['words_per_synchronization']:,} words per rank"
            )
            if ranks["communication"] > 0.5:
                longest = record["vocabulary"]["words"] // ranks["ranks"]  # the ranks synchronize after each epoch
                is_longest = ranks["words_per_synchronization"] >= longest
                others = " or a faster network" if is_longest else ", a faster network or larger --sync-words"
                self.say(f"            fewer ranks{others} would waste less time")
        phases = ", ".join(f"{name} {duration(value)}" for name, value in seconds.items())
        self.say(f"time        {duration(total)}: {phases}; peak memory {size_text(record['peak_memory_bytes'])}")
        for output in outputs:
            self.say(f"output      {output}")
