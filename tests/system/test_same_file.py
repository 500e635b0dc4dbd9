"""Tests of the comparison of names: links and other spellings."""

import os
from pathlib import Path

import pytest

from w2vtrain.system.files import among, same_file


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a.txt", "b.txt"):
        Path(name).write_text("a b\n" * 20)
    Path("link").symlink_to("a.txt")
    os.link("a.txt", "second.txt")
    Path("sub").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("a.txt", "./a.txt", True),
        ("a.txt", "sub/../a.txt", True),
        ("a.txt", "link", True),
        ("a.txt", "second.txt", True),
        ("a.txt", "b.txt", False),
        ("a.txt", "new", False),
        ("new", "sub/../new", True),
        ("new", "New", False),
        ("new", "sub/new", False),
        ("missing/new", "missing/new", True),
        ("missing/new", "missing/New", False),
        ("-", "-", True),
        ("-", "./-", False),
    ],
)
def test_names_of_one_file_are_the_same(folder, one, other, same):
    assert same_file(one, other) is same
    assert same_file(other, one) is same
    assert among(other, ["b", one]) is same
    assert sorted(os.listdir()) == ["a.txt", "b.txt", "link", "second.txt", "sub"]  # noqa: PTH208


def test_files_of_a_file_system_without_inodes_are_compared_by_name(folder, monkeypatch):
    real = os.stat

    def stat(path, *rest, **options):
        about = list(real(path, *rest, **options))
        about[1] = 0
        return os.stat_result(about)

    monkeypatch.setattr(os, "stat", stat)
    assert not same_file("a.txt", "b.txt")
    assert same_file("a.txt", "link")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["bench", "a.txt", "--json", "second.txt"], "second.txt: is both input and output; choose another name"),
        (["bench", "a.txt", "--json", "b.txt", "--plot", "./b.txt"], "./b.txt: given for two outputs"),
        (["fit", "a.txt", "-o", "second.txt"], "second.txt: is both input and output; choose another name"),
        (["vocab", "a.txt", "-o", "second.txt"], "second.txt: is both input and output; choose another name"),
        (["convert", "a.txt", "-o", "second.txt"], "second.txt: is both input and output; choose another name"),
        (["fit", "a.txt", "-o", "-", "--save-vocab", "/dev/stdout"], "/dev/stdout: given for two outputs"),
        (["fit", "a.txt", "-o", "/dev/fd/1", "--log-json", "-"], "-: given for two outputs"),
    ],
    ids=["bench", "bench, two outputs", "fit", "vocab", "convert", "stdout", "log on stdout"],
)
def test_every_command_spares_a_hard_link_of_its_input(folder, w2vtrain_here, words, message):
    before = Path("second.txt").read_bytes()
    assert w2vtrain_here([*words, "--force"] if words[0] != "bench" else words, folder) == (
        2, "", f"w2vtrain: error: {message}\n"
    )  # fmt: skip
    assert Path("second.txt").read_bytes() == before
