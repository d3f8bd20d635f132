"""Describes the machine and the software that a run was made with."""

import os
import platform
import shutil
import subprocess
from pathlib import Path

from tools.reference.install import KAFKA_VERSION


def describe() -> dict[str, str]:
    """What a reader needs to know to judge the figures."""
    return {
        "CPU": f"{_cpu()}, {os.cpu_count()} cores",
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB",
        "file system": _file_system(),
        "kernel": f"{platform.system()} {platform.release()}",
        "Python": platform.python_version(),
        "Java": _first_line("java", "-version"),
        "Go": _first_line("go", "version"),
        "Apache Kafka": f"{KAFKA_VERSION}, heap 1 GiB",
        "Tidegate": _revision(),
    }


def _cpu() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _file_system() -> str:
    """Of the temporary directory, where the brokers' data lies."""
    place = os.path.realpath(os.environ.get("TMPDIR", "/tmp"))
    best = ("", "unknown")
    for line in Path("/proc/mounts").read_text().splitlines():
        _, mount, kind, *_ = line.split()
        if os.path.commonpath([place, mount]) == mount and len(mount) > len(best[0]):
            best = (mount, kind)
    free = shutil.disk_usage(place).free / 2**30
    return f"{best[1]}, {free:.0f} GiB free"


def _first_line(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return "not installed"
    return (done.stdout or done.stderr).splitlines()[0].strip()


def _revision() -> str:
    command = ["git", "-c", "safe.directory=*", "describe", "--always", "--dirty"]
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=root)
    return done.stdout.strip() or "not a checkout"
