"""The example scripts write what the command line reads."""

import subprocess
import sys
from pathlib import Path

from w2vtrain.probability.trees import tree_from_file

ROOT = Path(__file__).parent.parent
DATA = """\
  1 A license.
00000100 03 n 01 entity 0 000 | what is
00000200 05 n 01 animal 0 001 @ 00000100 n 0000 | a living thing
00000300 05 n 02 dog 0 hound 0 002 ~ 00000900 n 0000 @ 00000200 n 0000 | a pet
00000400 05 n 01 cat 0 001 @ 00000200 n 0000 | a pet
00000500 06 n 01 house 0 001 @ 00000100 n 0000 | a building
"""
INDEX = """\
  1 A license.
cat n 1 1 @ 1 1 00000400
dog n 1 2 ~ @ 1 1 00000300
house n 1 1 @ 1 1 00000500
"""


def test_words_below_the_same_hypernyms_of_wordnet_share_their_paths(tmp_path):
    for name, text in {"data.noun": DATA, "index.noun": INDEX, "data.verb": "", "index.verb": ""}.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "vocab.txt").write_text("the 90\nof 50\ndog 9\nhouse 8\ncat 7\n")
    command = [sys.executable, ROOT / "examples/wordnet_tree.py", tmp_path, tmp_path / "vocab.txt"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    paths = dict(line.split() for line in printed.splitlines())
    assert list(paths) == ["the", "of", "dog", "house", "cat"]
    assert paths["dog"][:-1] == paths["cat"][:-1]
    assert paths["dog"][:-2] == paths["house"][:-1] != paths["the"][:1]
    (tmp_path / "tree.txt").write_text(printed)
    assert tree_from_file(tmp_path / "tree.txt", list(paths)).codes.size == sum(map(len, paths.values()))
