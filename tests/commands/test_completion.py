"""Shells complete commands, options, values and files with the script that `completion` prints."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(sys.executable).parent
BASH = """
eval "$(w2vtrain completion bash)"
COMP_WORDS=({words}); COMP_CWORD={last}
_w2vtrain_completion w2vtrain
printf '%s\\n' "${{COMPREPLY[@]}}"
complete -p w2vtrain
"""
ZSH = """
autoload -U compinit; compinit -u -D
eval "$(w2vtrain completion zsh)"
compadd() {{ [[ $1 == -U && $2 == -V ]] && shift 3; print -l -- "$@" ${{(P)@[-1]}} }}
_describe() {{ print -l -- ${{(P)3}} }}
_path_files() {{ print -l -- FILES }}
words=({words}); CURRENT={last}+1
_w2vtrain_completion w2vtrain
"""
FISH = """
w2vtrain completion fish | source
complete -C "{words}"
"""


def completed(shell: str, script: str, line: str) -> str:
    """Return what a shell offers after a line; a line that ends with a space is continued with a new word."""
    if not (program := shutil.which(shell)):
        pytest.skip(f"{shell} is not installed")
    words = line.split()
    if line.endswith(" ") and shell != "fish":
        words.append("''")
    text = script.format(words=line if shell == "fish" else " ".join(words), last=len(words) - 1)
    options = {"bash": ["--norc"], "zsh": ["-f"], "fish": ["--no-config"]}[shell]
    environment = {**os.environ, "PATH": f"{FOLDER}{os.pathsep}{os.environ['PATH']}"}
    run = subprocess.run([program, *options, "-c", text], capture_output=True, text=True, env=environment, check=False)
    assert not run.stderr
    return run.stdout


@pytest.mark.parametrize("shell, script", [("bash", BASH), ("zsh", ZSH), ("fish", FISH)], ids=["bash", "zsh", "fish"])
@pytest.mark.parametrize(
    "line, offered",
    [
        ("w2vtrain nei", "neighbors"),
        ("w2vtrain fit --vector-s", "--vector-size"),
        ("w2vtrain fit --tokenizer uni", "unicode"),
        ("w2vtrain fit --objective hs-", "hs-neg"),
        ("w2vtrain eval anal", "analogies"),
    ],
    ids=["command", "option", "value", "member", "nested"],
)
def test_shells_complete(shell, script, line, offered):
    assert offered in completed(shell, script, line)


@pytest.mark.parametrize("line", ["fit x", "fit -o x", "fit --init-from x", "neighbors x", "resume x", "info x"])
def test_names_of_files_are_left_to_the_shell(line):
    words = f"w2vtrain {line}"
    asked = {"_W2VTRAIN_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
    command = [sys.executable, "-m", "w2vtrain"]
    said = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **asked}, check=False).stdout
    assert said == "file,x\n"


def test_words_are_not_completed_as_files():
    asked = {"_W2VTRAIN_COMPLETE": "bash_complete", "COMP_WORDS": "w2vtrain neighbors v.txt x", "COMP_CWORD": "3"}
    command = [sys.executable, "-m", "w2vtrain"]
    assert not subprocess.run(command, capture_output=True, env={**os.environ, **asked}, check=False).stdout.strip()
