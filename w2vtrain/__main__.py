"""The entry point of `w2vtrain` and `python -m w2vtrain`.

It imports almost nothing at the top, so that Ctrl-C prints one line instead of a traceback from the very start.
"""

import os


def main() -> None:
    """Run the command line. A KeyboardInterrupt during its imports also ends with exit code 130."""
    try:
        from w2vtrain.system.terminal import interrupts_end_imports

        with interrupts_end_imports():
            from w2vtrain.cli import main as command_line
        command_line()
    except SystemExit:  # all output is written; Ctrl-C during Python's shutdown would print a traceback
        import signal

        signal.signal(signal.SIGINT, signal.SIG_IGN)
        raise
    except KeyboardInterrupt:
        os.write(2, b"w2vtrain: error: interrupted\n")
        os._exit(130)


if __name__ == "__main__":
    main()
