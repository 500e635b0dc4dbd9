"""The commands, one module per command or family of commands: they read the inputs, print, and write the results.

Nothing is computed here. The commands are declared in cli.py, and the options that they share in options.py.
"""
