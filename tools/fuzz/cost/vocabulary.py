"""What a request says in its fields so that the broker does not turn it away at once: names and numbers with a meaning.

A request that names what exists costs more than one that names nothing. `subject.py` makes what is named here.
"""

from attrs import frozen

TOPIC = "known"
GROUP = "known-group"
TRANSACTIONAL_ID = "known-transactions"
CONFIG_KEY = "retention.ms"
PARTITIONS = 16

# A field's last word tells what kind of name it holds; a plain `name` or `key` is a matter of the struct around it.
_NAMES = {
    "topic": TOPIC,
    "group": GROUP,
    "transactional": TRANSACTIONAL_ID,
    "resource": TOPIC,
    "coordinator": GROUP,
    "configuration": CONFIG_KEY,
    "config": CONFIG_KEY,
    "assignor": "uniform",
    "protocol": "range",
    "type": "consumer",
    "state": "Ongoing",
    "pattern": ".*",
}

NUMBERS = {
    "acks": -1,
    "timeout_ms": 1000,
    "max_wait_ms": 0,
    "min_bytes": 0,
    "max_bytes": 1 << 20,
    "partition_max_bytes": 1 << 20,
    "session_timeout_ms": 10_000,
    "rebalance_timeout_ms": 10_000,
    "transaction_timeout_ms": 10_000,
    "resource_type": 2,
    "num_partitions": 1,
    "replication_factor": 1,
    "count": PARTITIONS + 1,
    "response_partition_limit": 2000,
    "timestamp": -1,
    "replica_id": -1,
    "session_epoch": -1,
    "generation_id": -1,
    "generation_id_or_member_epoch": -1,
    "current_leader_epoch": -1,
    "committed_leader_epoch": -1,
    "last_fetched_epoch": -1,
    "retention_time_ms": -1,
    "retention_timeout_ms": -1,
    "producer_id": -1,
    "producer_epoch": -1,
    "coordinator_epoch": 0,
    "member_epoch": 0,
}
# Requests that wait by right are no stall: these keep what stands above.
PATIENT = frozenset({"max_wait_ms", "timeout_ms", "session_timeout_ms", "rebalance_timeout_ms", "acks"})


@frozen
class Vocabulary:
    """The words for one broker."""

    topic_id: bytes

    def name(self, path: str, struct: str) -> str:
        """What exists, for the text at a path such as `topics.partitions.name` in a struct of this name."""
        words = (path.replace(".", "_") + "_" + struct.lower()).lower()
        last = path.rpartition(".")[2]
        for word, known in _NAMES.items():
            if word in last:
                return known
        return next((known for word, known in _NAMES.items() if word in words), "")

    def number(self, path: str, index: int) -> int:
        """A number that makes sense at this path; the partitions of a topic in turn."""
        last = path.rpartition(".")[2]
        if last in NUMBERS:
            return NUMBERS[last]
        return index % PARTITIONS if "partition" in last or last == "index" else 0
