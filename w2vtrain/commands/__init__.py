"""One module per command or family of commands: what `w2vtrain COMMAND` reads, prints and writes.

Options are declared in `cli.py`; nothing here computes a figure.
"""
