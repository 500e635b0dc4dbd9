"""Training on several ranks, which are threads here: the ledger, restarts, equal replicas, signals and errors."""

import time

import numpy as np
import pytest
from prepared import prepared
from reference import begin, first_lines, newest_checkpoint
from simulated import run_ranks

from w2vtrain.config import Settings
from w2vtrain.errors import ConfigError, DataError, Diverged, Stopped, W2VError
from w2vtrain.leaves.mpi import agreement
from w2vtrain.leaves.mpi import ranks as mpi
from w2vtrain.training import checkpoint_file
from w2vtrain.training.checkpointing import CheckpointedRun
from w2vtrain.training.events import Events
from w2vtrain.training.inputs import Inputs
from w2vtrain.training.plan import Plan, effective
from w2vtrain.training.run import Run
from w2vtrain.training.trainer import train, trained

WORDS = 2000
"""Words per rank between two synchronizations: 2 chunks."""


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    """Return the path of a corpus of about 40 chunks."""
    return str(first_lines(1600, tmp_path_factory.mktemp("text") / "text.txt"))


@pytest.fixture(autouse=True)
def _often(monkeypatch):
    monkeypatch.setattr(agreement, "REPORT_SECONDS", 0.01)


class Ranks:
    """Runs of one text, each a call, in one folder. trained: (epoch, chunk) of every chunk that a rank has trained on;
    epochs: (rank, Epoch) of every epoch that ended on a rank.

    act: called before every call of engine.train with the rank, the number of the call on this rank, the engine and the
    signals of the rank; interval: words per rank between two synchronizations.
    """

    def __init__(self, folder, text, **settings):
        self.folder, self.text, self.trained, self.epochs = folder / "run", text, [], []
        self.settings = effective(
            Settings(**{"vector_size": 16, "max_vocab": 200, "epochs": 3, "threads": 1, **settings})
        )
        self.act, self.interval = lambda *_: None, WORDS
        self.folder.mkdir()

    def __call__(self, count, every=1e9):
        """Run with this many ranks, and return what each has: its model and its arrays after training."""
        return run_ranks(count, lambda comm: self.rank(comm, every))

    def rank(self, comm, every):
        ranks, kept = mpi.Ranks(comm, self.interval), {}
        run = ranks.run
        if comm.rank == 0:
            run = CheckpointedRun(self.folder, every)
            begin(run, self.settings, cwd="", request={})
        ranks.begin(run)

        def prepare(engine):
            train, calls = engine.train, iter(range(1, 1 << 30))

            def watched(chunks, rates, epoch, thread):
                if len(chunks):  # compiling trains on none
                    self.act(comm.rank, next(calls), engine, run)
                self.trained += [(epoch, int(chunk)) for chunk in chunks]
                return train(chunks, rates, epoch, thread)

            engine.train, kept["engine"] = watched, engine

        try:
            inputs = Inputs([self.text])
            events = Events(epoch=lambda epoch, _: self.epochs.append((comm.rank, epoch)))
            plan = Plan.of(inputs, self.settings)
            model = trained(plan, events=events, run=run, make=prepared(prepare), ranks=ranks).model()
        except W2VError as error:
            told = ranks.tell(error)
            if not told:
                raise AssertionError(f"the other ranks do not know: {error}") from error
            raise
        return model, kept["engine"].state()

    def every_chunk_once(self):
        """Return whether every chunk of every epoch was trained on exactly once."""
        chunks = 1 + max(chunk for _, chunk in self.trained)
        assert chunks > 20
        return sorted(self.trained) == [
            (epoch, chunk) for epoch in range(self.settings.epochs) for chunk in range(chunks)
        ]


@pytest.fixture
def ranks(tmp_path, text):
    return lambda name="a", **settings: Ranks(_made(tmp_path / name), text, **settings)


def _made(folder):
    folder.mkdir()
    return folder


def stop(rank, call):
    """Return what sends a signal to one rank at one of its calls."""

    def act(here, number, _, signals):
        if (here, number) == (rank, call):
            signals.stop_requested = True

    return act


def same(one, other):
    return all(np.array_equal(one[name], other[name]) for name in one.keys() | other.keys())


@pytest.mark.parametrize("subwords", [False, True], ids=["words", "subwords"])
def test_one_rank_learns_what_a_process_without_ranks_learns(ranks, text, subwords):
    run = ranks(subwords=subwords)
    ((model, _),) = run(1)
    assert run.every_chunk_once()
    alone = train(Plan.of(Inputs([text]), run.settings))
    # A rank adds its changes to the common weights, which rounds them once more.
    np.testing.assert_allclose(model.input, alone.input, atol=1e-4)
    assert model.words == alone.words


def test_the_interval_of_the_record_is_at_most_an_epoch(ranks):
    run = ranks()
    run.interval = 1_000_000
    (model, _), _ = run(2)
    half = model.record["vocabulary"]["words"] / 2
    assert half <= model.record["distributed"]["words_per_synchronization"] < 1.1 * half


def test_log_probabilities_without_biases_are_learned_by_four_ranks_as_by_one(ranks):
    """Without limits of their own for changes that all rows share, the loss ends 0.5 higher."""
    loss = {}
    for count in (1, 4):
        run = ranks(str(count), objective="nce", max_vocab=2000, vector_size=32)
        run(count)
        loss[count] = run.epochs[-1][1].loss
    assert loss[4] < loss[1] + 0.1


@pytest.mark.parametrize("subwords", [False, True], ids=["words", "subwords"])
def test_all_replicas_are_equal_at_the_end_and_all_ranks_take_part(ranks, subwords):
    run, seen = ranks(subwords=subwords), set()
    run.act = lambda rank, *_: seen.add(rank)
    (_, first), *others = run(3)
    assert all(same(first, theirs) for _, theirs in others)
    assert run.every_chunk_once()
    assert seen == {0, 1, 2}


@pytest.mark.parametrize(("rank", "call"), [(1, 3), (0, 11), (1, 20)])
def test_run_that_a_signal_stops_on_any_rank_continues_to_the_same_bytes(ranks, rank, call):
    expected = ranks("b")(2)
    run = ranks()
    run.act = stop(rank, call)
    with pytest.raises(Stopped, match="stopped and saved"):
        run(2)
    assert len(checkpoint_file.numbers(run.folder)) == 1
    run.act = lambda *_: None
    found = run(2)
    assert all(same(mine, theirs) for (_, mine), (_, theirs) in zip(found, expected, strict=True))
    assert run.every_chunk_once()


def test_number_and_time_of_checkpoints_do_not_change_the_result(ranks, monkeypatch):
    run = ranks()
    monkeypatch.setattr(CheckpointedRun, "_save_soon", lambda self, *_: self.save())
    assert same(run(2, every=0)[0][1], ranks("b")(2)[0][1])
    assert checkpoint_file.numbers(run.folder)[-1] > run.settings.epochs


def test_ledger_is_exact_when_a_stopped_run_continues_with_other_numbers_of_ranks(ranks):
    run = ranks()
    for count, rank, call in ((2, 1, 5), (3, 2, 4), (1, 0, 6)):
        run.act = stop(rank, call)
        with pytest.raises(Stopped):
            run(count)
    run.act = lambda *_: None
    run(4)
    assert run.every_chunk_once()


def test_run_that_was_stopped_after_its_last_epoch_ends_on_all_ranks(ranks, monkeypatch):
    run, pause = ranks(), CheckpointedRun.pause

    def stopped(self, snapshot, milestone=False):
        self.stop_requested = self.stop_requested or snapshot()[0].state.epoch == 3
        pause(self, snapshot, milestone)

    with monkeypatch.context() as patch:
        patch.setattr(CheckpointedRun, "pause", stopped)
        with pytest.raises(Stopped):
            run(2)
    assert run.every_chunk_once()
    run(2)
    assert run.every_chunk_once()  # nothing was learned again


def test_run_that_was_stopped_after_its_time_limit_ends_on_all_ranks(ranks, monkeypatch):
    run, pause = ranks(epochs=100_000, seconds=0.2), CheckpointedRun.pause

    def stopped(self, snapshot, milestone=False):
        state = snapshot()[0].state
        self.stop_requested = self.stop_requested or (state.chunks == 0 and state.spent >= 0.2)
        pause(self, snapshot, milestone)

    with monkeypatch.context() as patch:
        patch.setattr(CheckpointedRun, "pause", stopped)
        with pytest.raises(Stopped):
            run(2)
    trained = len(run.trained)
    run(2)
    assert len(run.trained) == trained > 0


def test_not_a_number_on_one_rank_ends_all_and_keeps_the_last_checkpoint(ranks, monkeypatch):
    run = ranks()
    monkeypatch.setattr(CheckpointedRun, "_save_soon", lambda self, *_: self.save())

    def act(rank, call, engine, _):
        if (rank, call) == (1, 15):
            engine.weights().input[:] = np.nan

    run.act = act
    with pytest.raises(Diverged, match="alpha"):
        run(3, every=0)
    found = newest_checkpoint(run.folder)
    assert found is not None
    assert np.isfinite(found.arrays["input"]).all()


@pytest.mark.parametrize("call", [1, 9])
def test_all_ranks_raise_the_error_of_the_rank_that_fails(ranks, call):
    run = ranks()
    ended = []

    def act(rank, number, *_):
        if (rank, number) == (2, call):
            raise DataError("the text is gone")

    def rank(comm):
        try:
            run.rank(comm, 1e9)
        except W2VError as error:
            ended.append((comm.rank, error.exit_code, str(error)))

    run.act = act
    run_ranks(3, rank)
    said = "rank 2: the text is gone"
    assert sorted(ended) == [(0, 65, said), (1, 65, said), (2, 65, "the text is gone")]


def test_signal_while_one_rank_reads_stops_all(ranks, monkeypatch):
    run = ranks()
    before = Run.__init__
    monkeypatch.setattr(
        Run, "__init__", lambda self, *about: (before(self, *about), vars(self).update(stop_requested=True))[0]
    )
    with pytest.raises(Stopped, match="before training"):
        run(3)
    assert not run.trained


@pytest.mark.parametrize("settings", [{}, {"epochs": 100_000, "seconds": 0.5}])
def test_all_ranks_have_the_same_record_and_go_by_the_clock_of_rank_0(ranks, settings):
    """If a rank went by its own clock, ranks could disagree on whether an epoch has ended, and wait for ever."""
    run = ranks(**settings)
    run.act = lambda rank, *_: time.sleep(0.01 * rank)
    run(2)
    first, second = ([epoch for rank, epoch in run.epochs if rank == own] for own in (0, 1))
    assert first == second
    assert first


def test_documents_are_refused():
    settings = effective(Settings(architecture="pv-dm"))
    with pytest.raises(ConfigError, match="vectors of documents are trained by one process"):
        run_ranks(2, lambda comm: mpi.Ranks(comm, None).agree(settings, "", {}, False))
