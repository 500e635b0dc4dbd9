"""`python -m w2vtrain` is `w2vtrain`."""

from .cli import main

main()
