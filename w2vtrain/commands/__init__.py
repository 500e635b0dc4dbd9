"""One module per command or family of commands: what `w2vtrain COMMAND` reads, prints and writes.

Commands are declared in `cli.py`, options that they share in `options.py`; nothing here computes a figure.
"""
