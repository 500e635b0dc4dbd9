"""SECURITY.md states the limits that the code has, and names tests that exist."""

import re
from pathlib import Path

from w2vtrain.system.compression import MAX_EXPANSION
from w2vtrain.system.reading import ALLOWED_BYTES, ALLOWED_LINES_BYTES

ROOT = Path(__file__).parent.parent
PAGE = " ".join((ROOT / "SECURITY.md").read_text(encoding="utf-8").split())


def test_the_limits_of_compressed_files_are_those_of_the_code():
    assert f"may contain at most {ALLOWED_BYTES >> 20} MiB or {MAX_EXPANSION} times its size" in PAGE
    assert f"file of words or questions, {ALLOWED_LINES_BYTES >> 10} KiB or {MAX_EXPANSION} times its size" in PAGE


def test_the_named_tests_exist():
    named = re.findall(r"`(tests/[\w./]+)`", PAGE)
    assert len(named) >= 3
    assert all((ROOT / name).exists() for name in named)
