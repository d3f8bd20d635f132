"""What a process has used: CPU seconds, also by thread, memory and its peak; and what the host took. From /proc."""

import os
import time
from pathlib import Path

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_UTIME = 13
_STIME = 14
_STARTED = 21
_STOLEN = 8
BEHIND = 15


def cpu_s(pid: int) -> float:
    """CPU seconds of all threads of a process so far."""
    return _used_s(Path(f"/proc/{pid}/stat"))


def thread_cpu_s(pid: int) -> dict[str, float]:
    """CPU seconds of each thread that is there now."""
    used = {}
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            used[task.name] = _used_s(task / "stat")
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has ended meanwhile
    return used


def scheduled_s(pid: int) -> tuple[float, float]:
    """For how long a process's first thread had a processor, and for how long it waited for one while it had work."""
    had_ns, waited_ns, _ = Path(f"/proc/{pid}/schedstat").read_text().split()
    return int(had_ns) / 1e9, int(waited_ns) / 1e9


def stolen_s() -> float:
    """CPU seconds that the host has kept from this machine since it was started, of all cores together."""
    total = Path("/proc/stat").read_text().splitlines()[0].split()
    return int(total[_STOLEN]) / _TICKS_PER_S


def resident_mb(pid: int) -> float:
    """Resident memory now."""
    return _status_mb(pid, "VmRSS:")


def peak_resident_mb(pid: int) -> float:
    """The most that was resident since the start, or since `forget_peak`."""
    return _status_mb(pid, "VmHWM:")


def forget_peak(pid: int) -> None:
    """Let the peak of resident memory begin anew; where the kernel does not allow it, the old one stays."""
    try:
        Path(f"/proc/{pid}/clear_refs").write_text("5")
    except OSError:
        return


def age_s(pid: int) -> float:
    """How long ago the process was started."""
    started_s = int(_fields(Path(f"/proc/{pid}/stat"))[_STARTED - 2]) / _TICKS_PER_S
    return time.clock_gettime(time.CLOCK_BOOTTIME) - started_s


def _fields(stat: Path) -> list[str]:
    # The fields after the command's name begin with the third.
    return stat.read_text().rpartition(")")[2].split()


def _used_s(stat: Path) -> float:
    fields = _fields(stat)
    return (int(fields[_UTIME - 2]) + int(fields[_STIME - 2])) / _TICKS_PER_S


def _status_mb(pid: int, name: str) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) / 1024
    return 0.0


def stand_back() -> None:
    """Have this process run only where those that are measured leave a processor: it stands for another machine."""
    os.nice(BEHIND)
