"""The name of this machine's processor, for reports of measurements."""

import platform
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

CPUINFO = Path("/proc/cpuinfo")
ARM = {
    ("0x41", "0xd03"): "Arm Cortex-A53",
    ("0x41", "0xd07"): "Arm Cortex-A57",
    ("0x41", "0xd08"): "Arm Cortex-A72",
    ("0x41", "0xd0b"): "Arm Cortex-A76",
    ("0x41", "0xd0c"): "Arm Neoverse N1",
    ("0x41", "0xd40"): "Arm Neoverse V1",
    ("0x41", "0xd49"): "Arm Neoverse N2",
    ("0x41", "0xd4f"): "Arm Neoverse V2",
    ("0x46", "0x001"): "Fujitsu A64FX",
    ("0x48", "0xd01"): "HiSilicon TaiShan v110",
    ("0xc0", "0xac3"): "Ampere-1",
}
"""Names by implementer and part number: Linux does not name processors of this family."""


def processor_name(cpuinfo: Path = CPUINFO) -> str:
    """Return the name of the processor, or of its family if the system does not tell more."""
    if sys.platform == "darwin":
        command = ["/usr/sbin/sysctl", "-n", "machdep.cpu.brand_string"]
        with suppress(OSError, subprocess.SubprocessError):
            return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout.strip()
    facts: dict[str, str] = {}
    with suppress(OSError):
        for line in cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines():
            name, _, value = line.partition(":")
            facts.setdefault(name.strip(), value.strip())
    maker, part = facts.get("CPU implementer", ""), facts.get("CPU part", "")
    numbers = f"{platform.machine()}, CPU implementer {maker}, part {part}" if maker and part else ""
    return facts.get("model name") or ARM.get((maker, part)) or numbers or platform.processor() or platform.machine()
