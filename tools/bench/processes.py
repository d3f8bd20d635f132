"""What a broker's process has used: CPU seconds and resident memory, from /proc."""

import os
from pathlib import Path

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_UTIME = 13
_STIME = 14


def cpu_s(pid: int) -> float:
    """CPU seconds of all threads of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    # The fields after the command's name begin with the third.
    return (int(fields[_UTIME - 2]) + int(fields[_STIME - 2])) / _TICKS_PER_S


def resident_mb(pid: int) -> float:
    """Resident memory now."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0
