"""Warming up a broker before a load that is too light to do it: a virtual machine compiles what runs often."""

from tools.bench.clients import native
from tools.bench.trial import Trial

REQUESTS = 30_000
ROUNDS = 3


def warm(trial: Trial) -> None:
    """Small Produce requests over a few connections, and small reads of what they wrote, some times over."""
    trial.topics({"warm-up": 2})
    count = trial.scaled(REQUESTS // ROUNDS, 500)
    for _ in range(ROUNDS):
        native.run(
            "produce",
            trial.bootstrap,
            topic="warm-up",
            partitions=2,
            records=count,
            size=200,
            batch=1,
            connections=4,
        )
        native.run("fetch", trial.bootstrap, topic="warm-up", partitions=2, scattered=count // 2, spread=count // 4)
