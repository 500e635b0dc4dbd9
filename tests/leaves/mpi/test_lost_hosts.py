"""Training on two hosts that are killed or cut off at random moments; the same command continues it to the same bytes.

A moment is a number of bytes that a host has sent, a fraction of those that it sends in a run that nothing disturbs. So
it does not depend on the speed of the machine, and a seed repeats it.
"""

import json
import random
import shlex
import sys
import time
from contextlib import suppress
from importlib.util import find_spec
from typing import NamedTuple

import psutil
import pytest
from hosts import available, hosts, mpiexec
from jobs import Command, content, names, run
from reference import first_lines

pytestmark = pytest.mark.slow
RATE = "1gbit"
FIT = [
    "fit", "c.txt", "-o", "v.txt", "--distributed", "mpi", "--vector-size", "16", "--epochs", "80", "--threads", "1",
    "--sync-words", "2000", "--checkpoint-every", "0.0005", "--sync-timeout", "5",
]  # fmt: skip
START = """
until [ -e v.txt.json ]; do
    until [ -e hosts ]; do sleep 0.1; done
    source ./hosts
    echo "start $((++starts))"
    "${mpiexec[@]}" bash rank "$@"
    echo "exit code $?"
done
"""
"""A loop that starts the ranks until the run has finished. The file `hosts` says how to reach the hosts there are."""
RANK = f'exec {shlex.quote(sys.executable)} -m w2vtrain "$@" 2>> said-$PMI_RANK'
"""Every rank writes its messages to a file on shared storage, because without a network the launcher gets none."""
LOOP = ["bash", "start", *FIT]
LIMIT = 600
"""Seconds after which a run counts as hanging. All that is waited for takes seconds on a machine that is idle."""
LOST = "another rank has ended or has not answered for 5 s", "the connection to another rank is lost"


class Result(NamedTuple):
    """What a run leaves: its vectors, and its ledger, which is the corpus and what was learned in each epoch."""

    vectors: bytes
    corpus: dict
    epochs: list


@pytest.fixture(autouse=True, scope="module")
def _needs_hosts():
    if why := available():
        pytest.skip(why)
    if not mpiexec() or find_spec("mpi4py") is None:
        pytest.skip("needs mpi4py and mpiexec: install w2vtrain[mpich]")


@pytest.fixture
def folder(tmp_path):
    return fresh(tmp_path / "job")


def fresh(folder):
    folder.mkdir()
    first_lines(1600, folder / "c.txt")
    (folder / "start").write_text(START)
    (folder / "rank").write_text(RANK)
    return folder


def use(folder, cluster):
    """Let the next start use these hosts."""
    (folder / "hosts.new").write_text(f"mpiexec=({shlex.join(cluster.mpiexec(2))})\n")
    (folder / "hosts.new").replace(folder / "hosts")


def result(folder):
    """Return what a finished run has left, and check that it has left nothing else."""
    said = {name for name in names(folder) if name.startswith("said-")}
    assert set(names(folder)) - said - {"c.txt", "start", "rank", "hosts"} == {"v.txt", "v.txt.json"}
    record = json.loads(content(folder, "v.txt.json"))["record"]
    counted = ("epoch", "loss", "examples", "words")
    return Result(content(folder), record["corpus"], [[epoch[name] for name in counted] for epoch in record["epochs"]])


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """Return the result of a run on two hosts that nothing disturbs, and the bytes that each host sends."""
    folder = fresh(tmp_path_factory.mktemp("undisturbed") / "job")
    with hosts(2, RATE) as cluster:
        use(folder, cluster)
        ended = Command(folder, LOOP).end(LIMIT)
        sent = [cluster.sent(host) for host in range(2)]
    assert ended.code == 0, (ended.said, said(folder))
    assert min(sent) > 1 << 20, "the ranks have not exchanged rows over the network"
    return result(folder), sent


def said(folder):
    """Return the errors of each rank in all starts."""
    lines = [(folder / f"said-{rank}").read_text().replace("\r", "\n").splitlines() for rank in range(2)]
    return [[line for line in found if line.startswith("w2vtrain: error")] for found in lines]


def wait_for_end(ranks):
    """Wait until the ranks have ended by themselves; return the seconds that each needed, 0 for those that are gone."""
    began, took = time.monotonic(), {}
    while len(took) < len(ranks):
        assert time.monotonic() < began + LIMIT, "ranks still run"
        for rank, process in enumerate(ranks):
            if rank not in took and not running(process):
                took[rank] = time.monotonic() - began
        time.sleep(0.01)
    return [round(took[rank], 1) for rank in range(len(ranks))]


def running(process):
    with suppress(psutil.NoSuchProcess):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False


def starts_of(ended):
    """Return what the loop said."""
    return [line for line in ended.said.splitlines() if line.startswith(("start ", "exit code "))]


class Moment(NamedTuple):
    """When which host is disturbed: when it has sent a fraction of its bytes, or, at 0, when reading begins."""

    host: int
    fraction: float

    @classmethod
    def drawn(cls, seed):
        chance = random.Random(seed)
        return cls(chance.randrange(2), round(chance.random(), 2))

    def wait(self, job, folder, cluster, sent):
        """Wait for the moment; return the ranks."""

        def come():
            began = (folder / "v.txt.run").exists()
            return began and cluster.sent(self.host) >= self.fraction * sent[self.host] and len(job.ranks()) == 2

        assert job.wait_until(come, LIMIT), job.said()
        return job.ranks()


def test_hosts_on_a_slow_network_give_the_bytes_of_ranks_on_one_host(folder, undisturbed):
    ended = run(folder, 2, [*FIT, "--sync-timeout", "300"])
    assert ended.code == 0, ended.said
    assert result(folder) == undisturbed[0]


@pytest.mark.parametrize(
    ("how", "moment"),
    [
        *(("kill", Moment.drawn(seed)) for seed in (0, 1, 4)),
        *(("lose", Moment.drawn(seed)) for seed in (2, 3)),
        ("kill", Moment(0, 0)),
        ("lose", Moment(1, 0)),
    ],
    ids=str,
)
def test_run_continues_on_other_hosts_after_one_was_lost(folder, undisturbed, how, moment):
    expected, sent = undisturbed
    with hosts(2, RATE) as cluster:
        use(folder, cluster)
        job = Command(folder, LOOP)
        ranks = moment.wait(job, folder, cluster, sent)
        (folder / "hosts").unlink()
        getattr(cluster, how)(moment.host)
        took = wait_for_end(ranks)
    with hosts(2, RATE) as other:
        use(folder, other)
        ended = job.end(LIMIT)
    print("", how, *moment, took, said(folder), *starts_of(ended), sep=" | ")
    assert (ended.code, ended.orphans) == (0, []), (ended.said, said(folder))
    assert "start 2" in ended.said
    assert result(folder) == expected


@pytest.mark.parametrize(
    ("moment", "starts"), [(Moment.drawn(5), 1), (Moment.drawn(6), 3), (Moment.drawn(7), 1), (Moment(1, 0), 1)], ids=str
)
def test_ranks_end_while_the_network_is_cut_and_continue_when_it_is_mended(folder, undisturbed, moment, starts):
    """starts: the network is mended at this start of the ranks; those from 2 on have not reached the host."""
    expected, sent = undisturbed
    with hosts(2, RATE) as cluster:
        use(folder, cluster)
        job = Command(folder, LOOP)
        ranks = moment.wait(job, folder, cluster, sent)
        cluster.cut(moment.host)
        took = wait_for_end(ranks)
        alone = said(folder)
        job.wait_until(lambda: f"start {starts}\n" in job.said(), LIMIT)
        cluster.mend(moment.host)
        ended = job.end(LIMIT)
    print("", "cut", *moment, took, alone, *starts_of(ended), sep=" | ")
    assert all(any(why in "".join(errors) for why in LOST) for errors in alone), alone
    assert (ended.code, ended.orphans) == (0, []), (ended.said, said(folder))
    assert result(folder) == expected
