"""How long a group takes until its partitions are shared out: when it forms, when a member comes, when one goes."""

from tools.bench.clients import native
from tools.bench.figures import Figures
from tools.bench.trial import Trial


def rebalance(trial: Trial, *, members: int, partitions: int, protocol: str) -> Figures:
    """With franz-go's members; `protocol` is classic, or consumer (KIP-848)."""
    trial.topics({"load": partitions})
    with trial.measured() as meter:
        found = native.run(
            "rebalance", trial.bootstrap, topic="load", partitions=partitions, members=members, protocol=protocol
        )
    figures = meter.figures(found)
    del figures["cpu_s_per_1000"]
    return figures
