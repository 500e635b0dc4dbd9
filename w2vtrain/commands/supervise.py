"""The command `supervise`: find the `fit` command in a command line, and start it until its run has finished.

Starting, watching and restarting are in distributed/supervisor.py.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from w2vtrain.commands.request import FitRequest, is_stream
from w2vtrain.distributed.supervisor import Limits, Supervisor
from w2vtrain.distributed.traces import Traces
from w2vtrain.errors import UsageError
from w2vtrain.system.files import STDOUT
from w2vtrain.system.terminal import echo, escaped_line


def supervise(command: Sequence[str], request: FitRequest, limits: Limits) -> None:
    """Start a command until the run that it trains has finished; raise UsageError if that cannot be decided.

    request: what follows the word `fit` in the command. Relative names in it refer to the current directory.
    """
    if not hasattr(os, "killpg"):
        raise UsageError("supervise: needs process groups, which this operating system does not have")
    if request.print_config:
        raise UsageError("supervise: --print-config trains nothing: run the command itself")
    if not request.output:
        raise UsageError("supervise: the fit command has no -o FILE, beside which the record of a finished run appears")
    folder, record = request.run_folder, request.record
    if record is None or folder is None:
        raise UsageError(f"supervise: -o {request.output} is no regular file: a restart would write to it again")
    if STDOUT in request.sources:
        raise UsageError("supervise: a restart cannot read standard input again: put the corpus into a file")
    cache = Path(request.cache_dir) if request.cache_dir else None
    where = request.log_json if request.log_json and not is_stream(request.log_json) else None
    Supervisor(
        command,
        Traces(folder, Path(record), cache),
        limits,
        lambda line: echo(f"supervise   {escaped_line(line)}", err=True),
        f"{where} and the messages above" if where else "the messages above",
    ).run()
