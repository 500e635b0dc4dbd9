"""Training on walks: the same bytes on one thread, also after a stop; ranks; a row for every node."""

import numpy as np
import pandas
import pytest
from prepared import prepared
from reference import StopsAt, begin
from scipy.sparse import csr_array
from simulated import run_ranks

import w2vtrain
from w2vtrain import Walks
from w2vtrain.config import Settings
from w2vtrain.engines.window_engine import WindowEngine
from w2vtrain.errors import ConfigError, CorpusChanged, DataError, Stopped
from w2vtrain.leaves.graphs import walks as walks_module
from w2vtrain.leaves.mpi.ranks import Ranks
from w2vtrain.training import trainer
from w2vtrain.training.checkpointing import CheckpointedRun
from w2vtrain.training.inputs import Inputs
from w2vtrain.training.plan import Plan, effective
from w2vtrain.training.run_files import locked
from w2vtrain.training.trainer import train

SMALL = {"vector_size": 8, "window": 2, "epochs": 2, "threads": 1, "sample": 0}


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    """Use small chunks and slices, so that a small graph has many."""
    monkeypatch.setattr(walks_module, "CHUNK_WORDS", 90)
    monkeypatch.setattr(WindowEngine, "MAX_CHUNKS_PER_CALL", 2)


def groups(count=4, size=8, seed=1):
    """Return edges of groups, most of whose members know each other, with an edge from each group to the next."""
    rng, edges = np.random.default_rng(seed), []
    for group in range(count):
        edges += [(f"{group}.{group}", f"{(group + 1) % count}.0")] if size > group else []
        edges += [(f"{group}.{a}", f"{group}.{b}") for a in range(size) for b in range(a) if rng.random() < 0.8]
    return pandas.DataFrame(edges, columns=["source", "target"])


def learned(model):
    return {"input": model.input.tobytes(), "output": model.output.tobytes()}


def chunks_of(walks, epoch=0):
    """Return the ids of each chunk, read alone, and the chunks."""
    text = walks.generated(effective(Settings(**SMALL))).text()
    read = {}
    for chunk in range(len(text.words)):
        tokens, starts = text.read(np.array([chunk]), epoch)
        read[chunk] = tokens[starts[chunk] : starts[chunk + 1]].tolist()
    return read, text


def test_a_chunk_has_the_same_walks_whichever_chunks_are_read_with_it():
    read, text = chunks_of(Walks(groups(), walk_length=20, walks=5))
    assert len(read) > 20
    order = np.random.default_rng(3).permutation(len(read))[:12]
    tokens, starts = text.read(order, 0)
    assert not tokens.flags.writeable
    for chunk in order.tolist():
        assert tokens[starts[chunk] : starts[chunk + 1]].tolist() == read[chunk]
    assert chunks_of(Walks(groups(), walk_length=20, walks=5), epoch=1)[0] != read


def test_each_epoch_has_a_walk_from_each_node_as_often_as_asked():
    walks = Walks(groups(), walk_length=20, walks=5)
    corpus = walks.generated(effective(Settings(**SMALL)))
    for epoch in (0, 7):
        read, text = chunks_of(walks, epoch)
        sentences = [chunk[:-1] for chunk in read.values()]
        starts = [walk.split(",")[0] for chunk in sentences for walk in ",".join(map(str, chunk)).split(",-1,")]
        assert sorted(map(int, starts)) == sorted([*range(32)] * 5)
        assert sum(token >= 0 for chunk in read.values() for token in chunk) == corpus.words == text.words.sum()


def test_the_sample_of_long_walks_has_few_of_them():
    walks = Walks(groups(), walk_length=10**6, walks=1)
    assert len(walks.generated(effective(Settings(**SMALL))).text().tokens) == 2 * (10**6 + 1)


def test_the_walks_of_training_are_those_that_are_printed():
    walks = Walks(groups(), walk_length=20, walks=2, q=0.5, seed=5, threads="auto")
    corpus = walks.generated(effective(Settings(**SMALL, seed=5)))
    tokens, _ = corpus.text().read(np.arange(len(corpus.text().words)), 0)
    names = np.array([*corpus.vocabulary.words, "\n"])
    assert " ".join(names[tokens]).replace(" \n", "\n").replace("\n ", "\n").encode() == b"".join(walks.read())
    assert [walk.split() for walk in b"".join(walks.read()).decode().splitlines()] == [*walks]


@pytest.mark.parametrize("how", [{}, {"p": 0.5, "q": 2}])
@pytest.mark.parametrize("objective", ["neg", "softmax", "bigram-nce"])
def test_one_thread_gives_the_same_bytes(objective, how):
    walks = Walks(groups(), walk_length=20, **how)
    models = [w2vtrain.train(walks, objective=objective, seed=seed, **SMALL) for seed in (1, 1, 2)]
    assert learned(models[0]) == learned(models[1]) != learned(models[2])
    losses = [epoch["loss"] for epoch in models[0].record["epochs"]]
    assert losses[1] < losses[0]


def test_weight_decay_shrinks_all_nodes_alike_although_the_last_chunk_is_shorter():
    """At this rate, only the decay shows."""
    walks, rates = Walks(groups(), walk_length=20, walks=4), {"alpha": 1e-5, "min_alpha": 1e-5}
    before, after = (w2vtrain.train(walks, **rates, weight_decay=decay, **SMALL).input for decay in (0, 1))
    tokens = 2 * 4 * 32 * 21  # in two epochs, with the ends of walks
    np.testing.assert_allclose(np.log(after / before), -1e-5 * tokens, rtol=0.05)


def test_neighbors_in_the_graph_are_neighbors_of_vectors():
    model = w2vtrain.train(Walks(groups(), walks=40), vector_size=16, sample=0, threads=2, epochs=4)
    assert len(model.words) == 32
    found = [model.most_similar(node, topn=3) for node in model.words]
    same = [near.split(".")[0] == node.split(".")[0] for node, nearest in zip(model.words, found, strict=True)
            for near, _ in nearest]  # fmt: skip
    assert np.mean(same) > 0.9
    assert model.record["corpus"]["lines"] == 32 * 40


def test_every_node_has_a_row_and_its_expected_count():
    matrix = np.zeros((6, 6))
    matrix[0, 1] = matrix[1, 2] = matrix[2, 0] = matrix[0, 3] = 1  # 3 is a sink, and 4 and 5 have no edges
    model = w2vtrain.train(Walks(csr_array(matrix), walks=2, walk_length=4), min_count=5, **SMALL)
    assert model.words[-2:] == ["4", "5"]
    assert model.counts[-2:].tolist() == [2, 2]
    assert model.input.shape == (6, 8)
    assert np.abs(model["4"]).sum() > 0  # its initial vector
    # Of the 2 walks from each node, half of those that are at 0 go on to 3: those from 0, 2 and 1, by 4 nodes.
    ends = dict(zip(model.words, model.counts.tolist(), strict=True))
    assert ends["3"] == 2 * (1 + 0.5 + 0.5 + 0.5)


def test_settings_without_effect_are_refused():
    walks = Walks(groups(), walk_length=5, walks=1)
    for name, value in (("max_vocab", 5), ("sentence_end", True)):
        with pytest.raises(ConfigError, match=f"{name}: has no effect on walks over a graph"):
            w2vtrain.train(walks, **SMALL, **{name: value})
    model = w2vtrain.train(walks, **SMALL)
    with pytest.raises(ConfigError, match="vocabulary: this corpus has words of its own"):
        w2vtrain.train(walks, vocabulary=walks.generated(effective(Settings(**SMALL))).vocabulary, **SMALL)
    more = w2vtrain.continue_training(model, Walks(groups(5), walk_length=5), epochs=1, threads=1)
    assert set(model.words) < set(more.words)
    assert more.record["init_from"]["words"] == 32
    with pytest.warns(UserWarning, match="8 words of the model are left out: the corpus does not have them"):
        w2vtrain.continue_training(more, walks, epochs=1, threads=1)


def test_walks_may_be_held_out_text():
    scores = []
    events = w2vtrain.Events(epoch=lambda epoch, score: scores.append(score.perplexity))
    w2vtrain.train(Walks(groups()), heldout=Walks(groups(), seed=9, walks=1), events=events, objective="hs", **SMALL)
    assert len(scores) == 2
    assert scores[1] < scores[0]


@pytest.mark.parametrize("objective", ["neg", "sampled-softmax"])
def test_a_run_stopped_in_an_epoch_resumes_to_the_same_bytes(tmp_path, objective):
    settings = effective(Settings(objective=objective, **SMALL))

    def plan(graph=None, **how):
        return Plan.of(
            Inputs(Walks(groups() if graph is None else graph, **{"walk_length": 20, "q": 2, **how})), settings
        )

    whole = train(plan())
    for stop in (1, 5, 20):
        with locked(tmp_path / "run"):
            run = StopsAt(tmp_path / "run", stop)
            begin(run, settings, request={})
            with pytest.raises(Stopped):
                train(plan(), run=run)
            for other in (plan(groups(seed=2)), plan(walk_length=21), plan(q=3), plan(walks=11)):
                again = CheckpointedRun(tmp_path / "run")
                begin(again, settings, request={})
                with pytest.raises(CorpusChanged, match="the corpus changed since the run began"):
                    train(other, run=again)
            again = CheckpointedRun(tmp_path / "run")
            begin(again, settings, request={})
            model = train(plan(), run=again)
            again.finish()
        assert learned(model) == learned(whole)
        assert [e["loss"] for e in model.record["epochs"]] == [e["loss"] for e in whole.record["epochs"]]


def test_ranks_train_on_each_chunk_once(tmp_path):
    settings = effective(Settings(**SMALL))
    trained = []

    def rank(comm):
        ranks = Ranks(comm, 200)
        run = ranks.run
        if comm.rank == 0:
            run = CheckpointedRun(tmp_path / "run")
            begin(run, settings, cwd="", request={})
        ranks.begin(run)

        def prepare(engine):
            train_chunks = engine.train

            def watched(chunks, rates, epoch, thread):
                trained.extend((epoch, int(chunk)) for chunk in chunks)
                return train_chunks(chunks, rates, epoch, thread)

            engine.train = watched

        plan = Plan.of(Inputs(Walks(groups(), walk_length=20)), settings)
        return trainer.trained(plan, run=run, make=prepared(prepare), ranks=ranks).model()

    (tmp_path / "run").mkdir()
    models = run_ranks(2, rank)
    assert learned(models[0]) == learned(models[1])
    chunks = 1 + max(chunk for _, chunk in trained)
    assert sorted(trained) == [(epoch, chunk) for epoch in range(2) for chunk in range(chunks)]


def test_a_rank_that_cannot_read_the_graph_ends_all(tmp_path):
    def rank(comm):
        graph = groups() if comm.rank == 0 else csr_array((3, 3))
        ranks = Ranks(comm, 200)
        run = CheckpointedRun(tmp_path / "run") if comm.rank == 0 else ranks.run
        if comm.rank == 0:
            begin(run, effective(Settings(**SMALL)), cwd="", request={})
        ranks.begin(run)
        with pytest.raises(DataError, match="the graph has no edges") as caught:
            train(Plan.of(Inputs(Late(graph)), effective(Settings(**SMALL))), run=run, ranks=ranks)
        assert ranks.tell(caught.value)
        return True

    (tmp_path / "run").mkdir()
    assert run_ranks(2, rank) == [True, True]


class Late(Walks):
    """Walks over a graph that is taken over as late as files are read."""

    def __init__(self, graph):
        super().__init__(groups())
        self.data = graph

    @property
    def graph(self):
        return Walks(self.data).graph
