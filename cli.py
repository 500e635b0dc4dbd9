"""Run the command line without installing the package: `python cli.py fit corpus.txt -o vectors.txt`."""

from w2vtrain.__main__ import main

if __name__ == "__main__":
    main()
