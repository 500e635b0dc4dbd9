"""The processor's name on systems that tell it in different ways, runs without known memory, and process numbers."""

import os
import platform
import subprocess
import sys

import psutil
import pytest
from reference import first_lines

import w2vtrain
from w2vtrain.system import cgroup, machine
from w2vtrain.system.machine import processor_name

FIRST = "processor\t: 0\nBogoMIPS\t: 243.75\nFeatures\t: fp asimd\n"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("processor\t: 0\nmodel name\t: Intel(R) Xeon(R) @ 2.60GHz\n", "Intel(R) Xeon(R) @ 2.60GHz"),
        (f"{FIRST}CPU implementer\t: 0x41\nCPU part\t: 0xfff\n", "aarch64, CPU implementer 0x41, part 0xfff"),
        (f"{FIRST}", "aarch64"),
        (None, "aarch64"),
    ],
)
def test_the_processor_is_named_on_linux(tmp_path, monkeypatch, text, name):
    monkeypatch.setattr(machine.sys, "platform", "linux")
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    monkeypatch.setattr(platform, "processor", lambda: "")
    if text is not None:
        (tmp_path / "cpuinfo").write_text(text)
    assert processor_name(tmp_path / "cpuinfo") == name


def test_the_processor_is_named_on_macos_and_windows(tmp_path, monkeypatch):
    monkeypatch.setattr(platform, "processor", lambda: "Intel64 Family 6")
    monkeypatch.setattr(machine.sys, "platform", "win32")
    assert processor_name(tmp_path / "none") == "Intel64 Family 6"
    monkeypatch.setattr(machine.sys, "platform", "darwin")
    answers = subprocess.CompletedProcess([], 0, "Apple M2\n", "")
    with monkeypatch.context() as patch:
        patch.setattr(subprocess, "run", lambda *_, **__: answers)
        assert processor_name(tmp_path / "none") == "Apple M2"
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: (tmp_path / "no sysctl").stat())
    assert processor_name(tmp_path / "none") == "Intel64 Family 6"


def test_a_run_does_not_need_to_know_the_memory(tmp_path, monkeypatch):
    """Without /proc, all limits are unknown; nothing is refused, and the run saves checkpoints."""
    first_lines(200, tmp_path / "text.txt")
    monkeypatch.setattr(psutil, "PROCFS_PATH", str(tmp_path / "nowhere"), raising=False)
    monkeypatch.setattr(cgroup, "PROC", tmp_path / "nowhere")

    def unknown():
        raise FileNotFoundError(2, "No such file or directory", "/proc/meminfo")

    monkeypatch.setattr(psutil, "virtual_memory", unknown)
    assert machine.available_memory(tmp_path / "nowhere") == machine.UNKNOWN_BYTES
    model = w2vtrain.train(tmp_path / "text.txt", vector_size=8, epochs=1, threads=2, min_count=1)
    assert model.record["peak_memory_bytes"] > 0


def test_a_process_exists_until_its_parent_has_read_its_exit_code(monkeypatch):
    with subprocess.Popen([sys.executable, "-c", ""], stdout=subprocess.PIPE) as child:
        child.stdout.read()  # up to its end
        assert machine.process_exists(child.pid)
    assert not machine.process_exists(child.pid)
    assert machine.process_exists(os.getpid())
    assert not machine.process_exists(10**30)
    monkeypatch.setattr(psutil, "PROCFS_PATH", "/nowhere", raising=False)
    assert machine.process_exists(os.getpid())
