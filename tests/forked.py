"""Run w2vtrain in processes that need not import it: a server imports once, and forks for each command.

`run` is subprocess.run for commands that begin with this Python. Their processes have descriptors, a folder, an
environment and signals of their own, as others have, but save the third of a second in which Python imports. What the
imports themselves do is not tested in this way, and a command with other variables of Python or of a library than the
server has is started as usual.
"""

import atexit
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

import surroundings

READ_EARLY = (*(set(surroundings.REMOVED) - {"W2VTRAIN_", "KMP_", "COLUMNS", "LINES"}), "HOME", "XDG_", "PATH", "LD_")
"""How the names of variables begin that Python or a library reads when it is loaded. Other variables may differ: some
libraries set one when a test imports them."""
FOLDER = str(Path(__file__).parent)
ENVIRONMENT = dict(os.environ)
"""The variables that the server has."""
SIZE = 1 << 20
"""The most bytes of a request."""


def run(words, *, cwd=None, env=None, input=None, text=False, encoding=None, timeout=300, **about):
    """Run a command line and return subprocess.CompletedProcess; parameters: those of subprocess.run.

    about: capture_output and check, which must be true and false.
    """
    words = list(map(str, words))
    if not is_forkable(words, env):
        about |= {"cwd": cwd, "env": env, "input": input, "text": text, "encoding": encoding, "timeout": timeout}
        return subprocess.run(words, **about)
    assert about == {"capture_output": True, "check": False}, about
    with piped(input) as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        task = [words, str(cwd or Path.cwd()), dict(os.environ if env is None else env)]
        code = server().ask(task, [given, out.fileno(), err.fileno()], timeout)
        said = []
        for file in (out, err):
            file.seek(0)
            said.append(file.read().decode(encoding or "utf-8") if text or encoding else file.read())
    return subprocess.CompletedProcess(words, code, *said)


@contextmanager
def piped(data):
    """Yield the end of a pipe from which a process reads text or bytes; a thread writes them."""
    ours, theirs = os.pipe()

    def write():
        with suppress(BrokenPipeError), os.fdopen(theirs, "wb") as file:
            file.write(data.encode() if isinstance(data, str) else data or b"")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield ours
    finally:
        os.close(ours)
        writer.join()


def is_forkable(words, env):
    """Return whether a server can run a command with this environment."""
    others = set((os.environ if env is None else env).items()) ^ set(ENVIRONMENT.items())
    return (
        hasattr(os, "fork") and sys.platform == "linux" and words[0] == sys.executable and words[1] in ("-m", "-c")
        and not any(name.startswith(READ_EARLY) for name, _ in others)
    )  # fmt: skip


class Server:
    """The process that forks, and the socket to it."""

    def __init__(self):
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        code = f"import sys; sys.path.append({FOLDER!r}); import forked; forked.serve({theirs.fileno()})"
        self.process = subprocess.Popen([sys.executable, "-c", code], pass_fds=[theirs.fileno()], env=ENVIRONMENT)
        theirs.close()
        atexit.register(self.end)

    def ask(self, task, descriptors, timeout):
        """Return the exit code of a command, negative if a signal ended it; TimeoutExpired after so many seconds.

        After any error, the next command gets a new server.
        """
        self.socket.settimeout(timeout)
        child = None
        try:
            socket.send_fds(self.socket, [json.dumps(task).encode()], descriptors)
            child = int(self.socket.recv(SIZE))
            return int(self.socket.recv(SIZE))
        except BaseException as error:
            server.cache_clear()
            if child is not None:
                os.kill(child, signal.SIGKILL)
            self.end()
            if isinstance(error, TimeoutError):
                raise subprocess.TimeoutExpired(task[0], timeout) from None
            raise

    def end(self):
        """Let the server end, or kill it if it does not."""
        self.socket.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


@cache
def server():
    """Start the server of this process, once."""
    return Server()


def serve(number):
    """Import what commands import, then fork for each task until the other side has closed the socket."""
    import_everything()
    os.fsync = surroundings.checked  # as in conftest.py
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the tests' own Ctrl-C ends the other side
    sys.path.remove(FOLDER)
    with socket.socket(fileno=number) as connection:
        while True:
            task, descriptors, _, _ = socket.recv_fds(connection, SIZE, 3)
            if not task:
                return
            child = os.fork()
            if child == 0:
                connection.close()
                become(*json.loads(task), descriptors)
            for descriptor in descriptors:
                os.close(descriptor)
            connection.send(str(child).encode())
            connection.send(str(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])).encode())


def import_everything():
    """Import the modules of the commands that tests run most, and what these import when they are used."""
    import w2vtrain.cli
    import w2vtrain.commands.convert
    import w2vtrain.commands.evaluate
    import w2vtrain.commands.fit
    import w2vtrain.commands.fit_run
    import w2vtrain.commands.info
    import w2vtrain.commands.query
    import w2vtrain.commands.resume
    import w2vtrain.engines.window_engine
    import w2vtrain.objectives.neg
    import w2vtrain.training.trainer  # noqa: F401


def become(words, folder, environment, descriptors):
    """Do in this process what Python does with a command line, and end it."""
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    _, kind, program, *arguments = words
    code = 1
    try:
        sys.argv = ["-c" if kind == "-c" else program, *arguments]
        if kind == "-c":
            exec(compile(program, "<string>", "exec"), vars(sys.modules["__main__"]))
        else:
            sys.path[0] = folder
            runpy.run_module(program, run_name="__main__", alter_sys=True)
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
        if code and code is not end.code:
            print(end.code, file=sys.stderr)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    threading._shutdown()  # waits for threads that would keep a process from ending
    with suppress(OSError):
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)
