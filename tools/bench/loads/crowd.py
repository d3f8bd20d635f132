"""Many partitions and many connections: what they take, and what one more producer notices of them."""

import resource
import time

from tools.bench.clients import native
from tools.bench.figures import Figures
from tools.bench.loads.warm import warm
from tools.bench.trial import Trial


def crowd(trial: Trial, *, partitions: int, connections: int, duration_s: int) -> Figures:
    """Each connection sends a record every few seconds; one more producer is steady at 500 records/s."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        warm(trial)
        wide = trial.scaled(partitions, 10)
        began = time.monotonic()
        trial.topics({"crowd": wide})
        topics_s = time.monotonic() - began
        trial.topics({"other": 1})
        options = {"partitions": wide, "connections": trial.scaled(connections, 10)}
        native.run("crowd", trial.bootstrap, duration="2s", **options)
        with trial.measured() as meter:
            found = native.run("crowd", trial.bootstrap, duration=f"{trial.scaled(duration_s, 2)}s", **options)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    found.pop("connect_s")
    # It is the rate asked for.
    found.pop("records_per_s")
    return {"topics_s": topics_s, **meter.figures(found)}
