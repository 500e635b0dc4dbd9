"""Run the commands: one module for each command or family of commands reads its inputs, prints, and writes results.

Nothing here computes a figure. Commands are declared in cli.py, the options that they share in options.py.
"""
