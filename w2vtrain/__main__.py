"""The entry point of `w2vtrain` and `python -m w2vtrain`.

It imports nothing at the top, so that a signal prints one line instead of a traceback from the very start.
"""


def main() -> None:
    """Run the command line. A signal during its imports also ends with one line and an exit code."""
    try:
        from w2vtrain.system.stopping import signals_end_imports, signals_raise

        signals_raise()
        with signals_end_imports():
            from w2vtrain.cli import main as command_line
        command_line()
    except SystemExit:  # all output is written; a signal during Python's shutdown would print a traceback
        from w2vtrain.system.stopping import ignore_signals

        ignore_signals()
        raise
    except KeyboardInterrupt as error:
        from w2vtrain.system.stopping import end

        end(error)


if __name__ == "__main__":
    main()
