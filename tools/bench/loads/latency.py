"""Kafka's own EndToEndLatency: one record at a time, there and back. Paced latency is `consume.paced`."""

from tools.bench.clients import end_to_end_latency
from tools.bench.figures import Figures
from tools.bench.loads.warm import warm
from tools.bench.trial import Trial

SIZE_BYTES = 100


def round_trips(trial: Trial, *, records: int) -> Figures:
    """A record is sent when the one before it has come back."""
    warm(trial)
    trial.topics({"load": 1})
    count = trial.scaled(records, 200)
    end_to_end_latency(trial.bootstrap, "load", max(100, count // 5), SIZE_BYTES)
    with trial.measured() as meter:
        found = end_to_end_latency(trial.bootstrap, "load", count, SIZE_BYTES)
    return meter.figures(found)
