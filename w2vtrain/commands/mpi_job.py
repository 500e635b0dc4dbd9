"""Join the ranks of an MPI job before `fit`, and end them together afterwards.

What the ranks exchange is in distributed/.
"""

import faulthandler
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from w2vtrain.commands.request import FitRequest
from w2vtrain.commands.shell import explained
from w2vtrain.distributed.mpi import Mpi
from w2vtrain.distributed.team_of_ranks import TeamOfRanks
from w2vtrain.errors import Relayed, Stalled, UsageError, W2VError
from w2vtrain.system.stopping import NAME, ignore_signals
from w2vtrain.system.terminal import echo, one_line
from w2vtrain.training.signals import listening
from w2vtrain.training.team import Team

FORWARDING_SECONDS = 0.5
"""Time for the launcher to forward an error message: after an abort, it may drop what ranks have written."""


@contextmanager
def joined(request: FitRequest) -> Iterator[Team]:
    """Yield the team of this process: alone, or one of the ranks of an MPI job, which is joined and ended here.

    If an exception ends the block on any rank, all ranks end with its exit code.
    """
    for name in ("sync_words", "sync_timeout") if request.distributed is None else ():
        if getattr(request, name) != getattr(FitRequest, name):
            raise UsageError(f"{name.replace('_', '-')}: has no effect without --distributed mpi")
    if request.distributed is None or request.print_config:
        yield Team()
        return
    job = Mpi(request.sync_timeout)
    if job.size == 1:
        job.finish()
        yield Team()
        return
    ranks = TeamOfRanks(job, request.sync_words)
    with nullcontext() if ranks.leads else listening(ranks.run):
        try:
            yield ranks
        except BaseException as error:
            code, message = explained(error)
            if isinstance(error, W2VError) and ranks.tell(error):
                if isinstance(error, Stalled) and not ranks.leads:
                    faulthandler.dump_traceback()  # to which the message refers that rank 0 prints
                job.finish(code)
                raise error if ranks.leads else Relayed("", code) from error  # rank 0 prints the message
            if message:
                echo(f"{NAME}: error: {one_line(f'rank {job.rank}: {message}')}", err=True)
                time.sleep(FORWARDING_SECONDS)
            job.abort(code or 1)
        else:
            ignore_signals()  # the results are written, and the exit code must say so
            job.finish()
