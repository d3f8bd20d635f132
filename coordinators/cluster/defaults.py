"""What a cluster has other defaults for than one node: how many replicas there are, how many must be in sync."""

from collections.abc import Mapping

from attrs import evolve

from engine.config.keys import ConfigKey, Value

CLUSTER_DEFAULTS: dict[str, Value] = {
    "default.replication.factor": 3,
    "offsets.topic.replication.factor": 3,
    "transaction.state.log.replication.factor": 3,
    "transaction.state.log.min.isr": 2,
    "share.coordinator.state.topic.replication.factor": 3,
    "share.coordinator.state.topic.min.isr": 2,
    "min.insync.replicas": 2,
}


def cluster_keys(keys: Mapping[str, ConfigKey]) -> dict[str, ConfigKey]:
    """The broker keys of a node that belongs to a cluster (ADR 0037): the same ones, some with other defaults."""
    return {
        name: evolve(key, default=CLUSTER_DEFAULTS[name]) if name in CLUSTER_DEFAULTS else key
        for name, key in keys.items()
    }
