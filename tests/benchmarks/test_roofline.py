"""How w2vtrain scales and what limits it, from made-up measurements."""

import pytest
from limits import Limits
from observed import Observed
from roofline import Shares, scaling, shares

from w2vtrain.leaves.compare.systems import Job

LIMITS = Limits(flops=100.0, triad=1.0, rows=10.0)
TASK = "skipgram neg, 5 noise words"


def made(wall, threads=1, system="w2vtrain", cpu=None, needs=True):
    """Return a measurement of 120 words, which need 120 operations and 24 bytes of rows. wall, cpu: seconds."""
    cpu = wall * threads if cpu is None else cpu
    job = Job(system, "skipgram", "neg", "corpus", threads=threads)
    more = {"operations": 120.0, "row_bytes": 24.0} if needs else {}
    return Observed(job, 120, cpu, wall, cpu, wall, 1, {}, **more)


def test_scaling_compares_medians_with_one_thread():
    found = [made(9), made(10), made(14), made(5, 2), made(8, 2), made(8, 2), made(4, 4)]
    assert scaling([*found, made(1, 2, "gensim")]) == [
        f"{TASK}: 2 threads 1.25x of one by wall time",
        f"{TASK}: 4 threads 2.50x of one by wall time",
    ]
    assert scaling([made(5, 2), made(3, 4)]) == [], "one thread was not measured"


def test_shares_match_a_count_by_hand():
    one = [made(10.0)]
    assert shares(one, one, LIMITS) == pytest.approx((120 / 10 / 100, 24 / 10 / 10, 0, 0))
    two = shares([made(8.0, 2, cpu=12.0)], one, LIMITS)
    assert two == pytest.approx((120 / 12 / 100, 24 / 12 / 10, 1 - 10 / 8 / 2, 1 - 10 / 12))
    assert shares([made(4.0, 2)], one, LIMITS)[2:] == (0, 0), "two threads may be more than twice as fast"
    assert shares([made(8.0, 2)], [], LIMITS)[2:] == (0, 0), "one thread was not measured"
    assert shares([made(8.0, needs=False)], one, LIMITS) is None


@pytest.mark.parametrize(
    ("found", "limit"),
    [
        (Shares(0.6, 0.55), "limited by arithmetic"),
        (Shares(0.4, 0.55), "limited by rows"),
        (Shares(0.3, 0.35), "limited by none of these alone"),
        (Shares(0.3, 0.35, 0.3, 0.28), "limited by coherence"),
        (Shares(0.55, 0.1, 0.3, 0.3), "limited by arithmetic"),
        (Shares(0.1, 0.1, 0.2, 0.2), "limited by none of these alone"),
        (Shares(0.1, 0.1, 0.4, 0.1), "limited by waiting for a free core"),
    ],
)
def test_the_largest_share_is_the_limit_if_it_is_large_enough(found, limit):
    assert found.limit().split(";")[0] == limit
