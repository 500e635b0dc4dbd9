"""The command line without installing: `python cli.py fit corpus.txt -o vectors.txt`."""

from w2vtrain.cli import main

if __name__ == "__main__":
    main()
