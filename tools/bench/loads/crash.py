"""kill -9 with a large log: how long until a record is acknowledged again."""

from tools.bench.clients import native
from tools.bench.figures import Figures
from tools.bench.loads.consume import fill
from tools.bench.processes import age_s, resident_mb
from tools.bench.trial import Trial

RECORD_BYTES = 8192


def recovery(trial: Trial, *, gibibytes: float, partitions: int) -> Figures:
    """From the new process's start to the first acknowledgement, and until every partition has given one."""
    fill(trial, trial.scaled(int(gibibytes * 1024**3 / RECORD_BYTES), 1000), RECORD_BYTES, partitions)
    trial.subject.kill_and_start()
    since_s = age_s(trial.subject.pid)
    found = native.run("until-acks", trial.bootstrap, topic="load", partitions=partitions)
    return {
        "recovery_s": since_s + found["first_s"],
        "recovery_all_s": since_s + found["all_s"],
        "memory_mb": resident_mb(trial.subject.pid),
    }
