"""The commands, one module per command or family of commands: they read the inputs, print, and write the results.

Nothing is computed here. cli.py lists the commands, and options.py declares the options that they share.
"""
