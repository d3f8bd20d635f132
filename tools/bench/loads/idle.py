"""Nothing to do: start to ready, memory and CPU time at rest."""

import time

from tools.bench.figures import Figures
from tools.bench.processes import cpu_s, resident_mb
from tools.bench.trial import Trial

SETTLE_S = 2.0
IDLE_S = 5


def idle(trial: Trial) -> Figures:
    """Start it, let it settle, look."""
    pid = trial.subject.pid
    time.sleep(SETTLE_S)
    idle_s = trial.scaled(IDLE_S)
    before = cpu_s(pid)
    time.sleep(idle_s)
    return {
        "start_s": trial.subject.start_s,
        "idle_mb": resident_mb(pid),
        "idle_cpu_percent": (cpu_s(pid) - before) / idle_s * 100,
    }
