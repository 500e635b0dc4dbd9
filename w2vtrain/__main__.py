"""The entry point: `w2vtrain` and `python -m w2vtrain`.

It imports next to nothing at the top, so that Ctrl-C is answered in one line from the first moment on.
"""

import os


def main() -> None:
    """Run the command line; KeyboardInterrupt during its imports ends with exit code 130, too."""
    try:
        from w2vtrain.system.terminal import interrupts_end_imports

        with interrupts_end_imports():
            from w2vtrain.cli import main as command_line
        command_line()
    except SystemExit:  # all is written: Python's own end is no longer interrupted, which would show a traceback
        import signal

        signal.signal(signal.SIGINT, signal.SIG_IGN)
        raise
    except KeyboardInterrupt:
        os.write(2, b"w2vtrain: error: interrupted\n")
        os._exit(130)


if __name__ == "__main__":
    main()
