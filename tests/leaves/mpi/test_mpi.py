"""Real MPI ranks that are killed, stopped, signaled and started with different settings; and the time limits of MPI."""

import itertools
import math
import os
import random
import shutil
import signal
import sys
import time
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import SimpleNamespace

import numpy as np
import pytest
from hosts import mpiexec
from jobs import Job, content, names, run
from reference import first_lines

import w2vtrain
from w2vtrain.errors import ConfigError, Disconnected
from w2vtrain.leaves.mpi import mpi
from w2vtrain.leaves.mpi.mpi import Mpi
from w2vtrain.system import machine
from w2vtrain.training.run import STOPPED_EARLY

WORDS = [
    "fit", "c.txt", "-o", "v.txt", "--distributed", "mpi", "--vector-size", "16", "--max-vocab", "200", "--epochs", "4",
    "--threads", "1", "--sync-words", "2000", "--checkpoint-every", "0.0005",
]  # fmt: skip
KILL, STOP = "os.kill(os.getpid(), signal.SIGKILL)", "os.kill(os.getpid(), signal.SIGTERM)"
BEFORE = """if rank == {rank}:
    from {module} import {owner}
    kept = {owner}.{name}
    def disturbed(*arguments, **more):
        {act}
        return kept(*arguments, **more)
    {owner}.{name} = disturbed
"""
"""Do something before a function is called on one rank."""
SLOW = """
import time
from w2vtrain.leaves.mpi.session import Session
meet = Session.meet
Session.meet = lambda self, *arguments, **more: time.sleep(0.05) or meet(self, *arguments, **more)
"""
"""Make every round of training last 50 ms or more."""

real = pytest.mark.skipif(
    not mpiexec() or find_spec("mpi4py") is None, reason="needs mpi4py and mpiexec: install w2vtrain[mpich]"
)


def fresh(folder):
    folder.mkdir()
    first_lines(1600, folder / "c.txt")
    return folder


@pytest.fixture
def folder(tmp_path):
    return fresh(tmp_path / "job")


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """Return the vectors of runs with 2 and 3 ranks that nothing disturbs."""
    found = {}

    def result(ranks):
        if ranks not in found:
            folder = fresh(tmp_path_factory.mktemp("plain") / "job")
            ended = run(folder, ranks, WORDS)
            assert (ended.code, ended.errors, names(folder)) == (0, [], ["c.txt", "v.txt", "v.txt.json"])
            found[ranks] = content(folder)
        return found[ranks]

    return result


def disturbed(folder, ranks, act):
    """Run a job with slow rounds, call `act` with it once there is a checkpoint, and return how it ended."""
    job = Job(folder, ranks, WORDS, SLOW)
    assert job.wait_until(lambda: list(folder.glob("v.txt.run/ckpt-*"))), job.said()
    act(job)
    return job.end()


@real
def test_job_continues_to_the_same_bytes_after_sigterm_to_the_launcher_and_a_killed_rank(folder, expected):
    ended = disturbed(folder, 2, lambda job: job.process.send_signal(signal.SIGTERM))
    assert (ended.code, ended.orphans, len(ended.errors)) == (75, [], 1)
    assert "stopped and saved" in ended.errors[0]
    ended = run(folder, 2, WORDS, f"if rank == 0: at(20, lambda session: {KILL})")
    assert ended.code != 0
    assert not ended.orphans
    assert not (folder / "v.txt").exists()
    assert run(folder, 2, WORDS).code == 0
    assert content(folder) == expected(2)


@real
@pytest.mark.slow
def test_columns_and_phrases_give_the_vectors_of_the_text(folder, expected):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import csv, parquet

    text = (folder / "c.txt").read_text(encoding="utf-8")
    table = pa.table({"id": range(1600), "text": text.splitlines()})
    parquet.write_table(table, folder / "t.parquet", row_group_size=300)
    csv.write_csv(table, folder / "t.csv")
    for name in ("t.parquet", "t.csv"):
        ended = run(folder, 2, [*WORDS[:1], name, "--column", "text", *WORDS[2:], "--force"])
        assert (ended.code, ended.errors) == (0, []), ended.said
        assert content(folder) == expected(2)
    phrases = w2vtrain.find_phrases(folder / "c.txt")
    phrases.save(folder / "p.tsv")
    assert run(folder, 2, [*WORDS, "--phrases", "p.tsv", "--force"]).code == 0
    found = content(folder)
    joined = "".join(" ".join(phrases.join(line.decode().split(" "))) + "\n" for line in text.encode().splitlines())
    (folder / "c.txt").write_text(joined, encoding="utf-8")
    assert run(folder, 2, [*WORDS, "--force"]).code == 0
    assert found == content(folder) != expected(2)


@real
def test_setting_that_differs_on_one_of_three_ranks_is_named(folder):
    words = [word for word in WORDS if word not in ("--epochs", "4")]
    ended = run(folder, 3, words, different=["-env", "W2VTRAIN_EPOCHS", "3"])
    assert (ended.code, ended.orphans) == (78, [])
    assert ended.errors == ["w2vtrain: error: rank 2 differs from rank 0: epochs 3, not 5; start all ranks alike"]
    assert names(folder) == ["c.txt"]


@real
def test_rank_that_hangs_ends_the_job_after_the_time_limit(folder):
    hang = "if rank == 1: at(20, lambda session: os.kill(os.getpid(), signal.SIGSTOP))"
    ended = run(folder, 2, [*WORDS, "--sync-timeout", "3"], hang)
    assert (ended.code, ended.orphans) == (75, [])
    assert ended.errors == [
        "w2vtrain: error: rank 0: another rank has ended or has not answered for 3 s: the same command continues from"
        " the last checkpoint"
    ]


@real
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_ranks_killed_at_random_moments_continue_to_the_same_bytes(folder, expected, seed):
    chance = random.Random(seed)
    ranks, said = 2 + seed % 2, []
    for _ in range(3):
        job = Job(folder, ranks, WORDS, SLOW)
        if not job.wait_until(lambda job=job: len(job.ranks()) == ranks):
            break
        end = time.monotonic() + chance.uniform(0, 6)
        job.wait_until(lambda end=end: time.monotonic() > end)
        if job.process.poll() is None and len(there := job.ranks()) == ranks:
            there[chance.randrange(ranks)].kill()
        ended = job.end(60)
        assert not ended.orphans
        said.append(ended.said)
        if ended.code == 0:
            break
    if not (folder / "v.txt.json").exists() or (folder / "v.txt.run").exists():
        ended = run(folder, ranks, WORDS)
        assert ended.code == 0, (said, ended.said)
    assert content(folder) == expected(ranks)
    assert names(folder) == ["c.txt", "v.txt", "v.txt.json"]


@real
@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("whom", ["launcher", "everyone", "last rank"])
def test_signals_save_and_stop_all_ranks(folder, expected, number, whom):
    def act(job):
        if whom == "everyone":
            os.killpg(job.process.pid, number)
        else:
            (job.process if whom == "launcher" else job.ranks()[-1]).send_signal(number)

    ended = disturbed(folder, 3, act)
    assert (ended.code, ended.orphans, len(ended.errors)) == (75, [], 1)
    assert run(folder, 3, WORDS).code == 0
    assert content(folder) == expected(3)


@real
@pytest.mark.slow
@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize(
    ("module", "owner", "name"),
    [("w2vtrain.leaves.mpi", "ranks", "encode_together"), ("w2vtrain.training", "trainer", "compile_engine")],
)
def test_signal_before_training_stops_all_ranks(folder, expected, rank, module, owner, name):
    ended = run(folder, 2, WORDS, BEFORE.format(rank=rank, module=module, owner=owner, name=name, act=STOP))
    assert (ended.code, ended.orphans) == (75, [])
    assert ended.errors == [f"w2vtrain: {STOPPED_EARLY}"]
    assert run(folder, 2, WORDS).code == 0
    assert content(folder) == expected(2)


@real
def test_signal_after_the_results_are_written_changes_nothing(folder):
    """The ranks leave the job then, and nothing is left that another start could continue."""
    act = BEFORE.format(rank=0, module="w2vtrain.leaves.mpi", owner="mpi", name="Mpi.finish", act=STOP)
    ended = run(folder, 2, [*WORDS, "--epochs", "1"], act)
    assert (ended.code, ended.errors, names(folder)) == (0, [], ["c.txt", "v.txt", "v.txt.json"])


@real
@pytest.mark.slow
def test_rank_that_ends_before_it_has_joined_ends_the_job(folder):
    ended = run(folder, 3, [*WORDS, "--sync-timeout", "4"], different=["false"])
    assert ended.code in (signal.SIGALRM, signal.SIGALRM | signal.SIGTERM)  # by which the launcher may end the last
    assert (ended.orphans, names(folder)) == ([], ["c.txt"])


@real
@pytest.mark.slow
def test_rank_may_prepare_for_longer_than_the_time_limit(folder):
    act = "import time; time.sleep(6)"
    slow = BEFORE.format(rank=1, module="w2vtrain.training", owner="trainer", name="compile_engine", act=act)
    ended = run(folder, 2, [*WORDS, "--sync-timeout", "2"], slow)
    assert ended.code == 0


@real
@pytest.mark.slow
@pytest.mark.parametrize("others", [True, False])
def test_command_finishes_a_run_that_was_killed_after_its_results_were_written(folder, expected, others):
    name = "CheckpointedRun.remove_shared"
    before = BEFORE.format(rank=0, module="w2vtrain.training", owner="checkpointing", name=name, act=KILL)
    ended = run(folder, 2, WORDS, before)
    assert ended.code != 0
    assert (folder / "v.txt.run" / "corpus").is_dir()
    (folder / "mine").mkdir()
    assert run(folder, 2 if others else 1, WORDS).code == 0
    assert content(folder) == expected(2)
    assert names(folder) == ["c.txt", "mine", "v.txt", "v.txt.json"]


@real
@pytest.mark.slow
def test_launcher_that_is_killed_or_stopped_leaves_no_ranks(folder, expected):
    for number in (signal.SIGKILL, signal.SIGSTOP):
        job = Job(folder, 2, [*WORDS, "--sync-timeout", "3"], SLOW)
        before = set(folder.glob("v.txt.run/ckpt-*"))
        assert job.wait_until(lambda before=before: set(folder.glob("v.txt.run/ckpt-*")) - before)
        ranks, everyone = job.ranks(), job.launcher.children(recursive=True)
        for one in [job.launcher, *(everyone if number == signal.SIGSTOP else [])]:
            if one not in ranks:
                one.send_signal(number)
        if number == signal.SIGSTOP:
            ranks[1].kill()
        end = time.monotonic() + 300
        while any(map(_runs, ranks)):
            assert time.monotonic() < end, f"the ranks still run after {signal.Signals(number).name}"
            time.sleep(0.05)
        for one in everyone:
            if _runs(one):
                one.kill()
        job.process.kill()
        job.end()
    assert run(folder, 2, WORDS).code == 0
    assert content(folder) == expected(2)


def _runs(process):
    return process.is_running() and process.status() != "zombie"


@real
@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["-o", "-"], 2, "distributed: the ranks need a run folder: name an output file with -o"),
        (["-o", "/dev/null", "--format", "text"], 2, "distributed: the ranks need a run folder: name an output file"),
        (["--save-model", "/dev/null"], 2, "distributed: the ranks need a run folder: name an output file"),
        (["-o", "none/v.txt"], 73, "none/v.txt cannot be created: there is no folder none"),
        (["-o", "there.txt"], 73, "there.txt exists"),
        (["--heldout", "none.txt"], 66, "none.txt"),
        (["--alpha", "1000"], 76, "training diverged in epoch 1 at learning rate 1000"),
        (["--alpha", "-1"], 78, "alpha: expected a number"),
    ],
)
def test_error_on_rank_0_is_reported_once(folder, words, code, message):
    (folder / "there.txt").touch()
    ended = run(folder, 3, [*WORDS, *words])
    assert (ended.code, ended.orphans, len(ended.errors)) == (code, [], 1)
    assert ended.errors[0].startswith(f"w2vtrain: error: {message}")
    assert "Traceback" not in ended.said
    assert "BAD TERMINATION" not in ended.said


@real
def test_corpus_of_the_same_size_and_time_with_other_bytes_on_one_rank_is_named(folder):
    (folder / "sub").mkdir()
    other, text = folder / "sub" / "c.txt", folder / "c.txt"
    other.write_bytes(text.read_bytes().replace(b"the", b"teh"))
    shutil.copystat(text, other)
    ended = run(folder, 2, WORDS, different=["-wdir", str(folder / "sub")])
    assert (ended.code, ended.orphans) == (65, [])
    assert ended.errors == [
        "w2vtrain: error: c.txt has other bytes on rank 1 than on rank 0: all ranks must read the same files, which"
        " must not change during training"
    ]


@real
@pytest.mark.parametrize(
    ("change", "difference"),
    [
        ('sys.argv[sys.argv.index("--sync-words") + 1] = "3000"', "sync-words 3000, not 2000"),
        ("sys.argv += ['-o', 'b.txt']", "output 'b.txt', not 'v.txt'"),
    ],
    ids=["interval", "output"],
)
def test_ranks_with_different_requests_are_named(folder, change, difference):
    """The job would otherwise wait until the timeout, or write only the outputs of rank 0."""
    ended = run(folder, 2, WORDS, f"if rank == 1: {change}")
    assert (ended.code, ended.orphans) == (78, [])
    assert ended.errors == [f"w2vtrain: error: rank 1 differs from rank 0: {difference}; start all ranks alike"]
    assert names(folder) == ["c.txt"]


@real
@pytest.mark.slow
def test_results_that_cannot_be_written_are_written_by_the_next_start(folder, expected):
    act = "from w2vtrain.errors import WriteError; raise WriteError('disk full')"
    broken = BEFORE.format(rank=0, module="w2vtrain.commands", owner="fit_run", name="write_results", act=act)
    ended = run(folder, 2, WORDS, broken)
    assert (ended.code, ended.orphans, len(ended.errors)) == (74, [], 1)
    assert "what was learned is saved" in ended.errors[0]
    assert run(folder, 2, ["resume", "v.txt.run"]).code == 0
    assert content(folder) == expected(2)


@real
@pytest.mark.slow
def test_launcher_with_one_rank_trains_like_a_process_without_one(folder, w2vtrain_here, tmp_path):
    assert run(folder, 1, WORDS).code == 0
    other = fresh(tmp_path / "other")
    words = [word for word in WORDS if word not in ("--distributed", "mpi", "--sync-words", "2000")]
    assert w2vtrain_here(words, other)[0] == 0
    assert content(other) == content(folder)


class Request:
    """An operation that is complete after some questions."""

    def __init__(self, questions):
        self.left = questions

    def Test(self):  # noqa: N802
        self.left -= 1
        return self.left < 0


@pytest.fixture
def library(monkeypatch):
    """Replace mpi4py by a library of one rank, or of as many as its attribute says; return it."""
    world = SimpleNamespace(Get_rank=lambda: 0, Get_size=lambda: 1, Ibarrier=lambda: Request(0))
    found = SimpleNamespace(
        COMM_WORLD=world, Exception=RuntimeError, Get_library_version=lambda: "MPI 1\nmore", Finalize=lambda: None
    )
    package = SimpleNamespace(MPI=found, rc=SimpleNamespace(), __spec__=ModuleSpec("mpi4py", None))
    monkeypatch.setitem(sys.modules, "mpi4py", package)
    for name in machine.SIZE_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    return found


def test_operation_that_takes_longer_than_the_limit_raises_disconnected(library, monkeypatch):
    clock = itertools.count(0, 0.001)  # seconds per question
    monkeypatch.setattr(mpi.time, "monotonic", lambda: next(clock))
    comm = Mpi(0.2)
    comm._wait(lambda: Request(100))
    with pytest.raises(Disconnected, match=r"not answered for 0\.2 s"):
        comm._wait(lambda: Request(1 << 60))


def test_library_that_does_not_belong_to_the_launcher_is_reported(library, monkeypatch):
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "4")
    with pytest.raises(ConfigError, match="started 4 processes, but MPI 1 sees only one"):
        Mpi(9)


def test_time_limit_of_the_start_is_lifted_once_the_rank_has_joined(library):
    Mpi(9)
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0


def test_missing_package_is_reported(monkeypatch):
    monkeypatch.setattr(mpi, "find_spec", lambda _: None)
    with pytest.raises(ConfigError, match="install w2vtrain"):
        Mpi(9)


@pytest.mark.parametrize(("rank", "code", "leaves"), [(0, 0, False), (1, 0, True), (1, 74, False)])
def test_only_a_rank_that_has_nothing_to_do_waits_for_others_to_leave_without_a_limit(library, rank, code, leaves):
    left, came = [], time.monotonic() + 0.3 if leaves else math.inf
    library.COMM_WORLD.Get_rank = lambda: rank
    library.COMM_WORLD.Ibarrier = lambda: SimpleNamespace(Test=lambda: time.monotonic() > came)
    library.Finalize = lambda: left.append(True)
    Mpi(0.1).finish(code)
    assert left == [True] * leaves


def test_time_limit_of_the_end_is_lifted_once_the_rank_has_left(library):
    limits = []
    library.Finalize = lambda: limits.append(signal.getitimer(signal.ITIMER_REAL)[0])
    Mpi(9).finish()
    assert 0 < limits[0] <= 9
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0


def test_error_of_the_library_during_a_sum_raises_disconnected(library):
    def test():
        raise library.Exception("no route to host")

    library.IN_PLACE = None
    library.COMM_WORLD.Iallreduce = lambda *_: SimpleNamespace(Test=test)
    with pytest.raises(Disconnected, match="lost: no route to host"):
        Mpi(9).allreduce(np.zeros(1))
