"""The requests that both clients send, and what is made of their answers: nothing here waits."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tidegate.client.batching import ReadyBatch
from tidegate.client.messages import admin_pb2, consume_pb2, produce_pb2
from tidegate.client.values import Lease, Position, RecordRefused, Written, consumed, refused

ACKS: Final = {"all": produce_pb2.ACKS_ALL, "leader": produce_pb2.ACKS_LEADER, "none": produce_pb2.ACKS_NONE}
PARTITIONERS: Final = {
    "hash": produce_pb2.PARTITIONER_MURMUR2,
    "murmur3": produce_pb2.PARTITIONER_MURMUR3,
    "fnv1a": produce_pb2.PARTITIONER_FNV1A,
    "round_robin": produce_pb2.PARTITIONER_ROUND_ROBIN,
}
EDGES: Final = {"earliest": consume_pb2.EDGE_EARLIEST, "latest": consume_pb2.EDGE_LATEST}
SETTLEMENTS: Final = {
    "ack": consume_pb2.SETTLEMENT_ACK,
    "nack": consume_pb2.SETTLEMENT_NACK,
    "reject": consume_pb2.SETTLEMENT_REJECT,
    "renew": consume_pb2.SETTLEMENT_RENEW,
}


def chosen(table: Mapping[str, Any], name: str, what: str) -> Any:
    """An entry by name; `ValueError` says which there are."""
    if name not in table:
        raise ValueError(f"{what} is one of {', '.join(table)}, not {name!r}")
    return table[name]


def send_request(batch: ReadyBatch[Any], acks: Any, partitioner: Any, timeout_s: float) -> produce_pb2.SendRequest:
    """A batch to be written."""
    return produce_pb2.SendRequest(
        topic=batch.topic,
        records=batch.records,
        acks=acks,
        partitioner=partitioner,
        timeout_ms=max(1, int(timeout_s * 1000)),
    )


def outcomes(batch: ReadyBatch[Any], answer: produce_pb2.SendResponse) -> list[Written | RecordRefused]:
    """What became of each record."""
    places = zip(answer.partitions, answer.offsets, answer.timestamps_ms, strict=True)
    found: list[Written | RecordRefused] = [Written(batch.topic, *place) for place in places]
    for each in answer.refused:
        found[each.index] = refused(each.refusal)
    return found


def first_offsets(
    described: admin_pb2.TopicDescription, start: Position, partitions: Sequence[int] | None
) -> dict[int, int]:
    """Where to begin, by partition."""
    if not isinstance(start, int) and start not in EDGES:
        raise ValueError(f"start is an offset, 'earliest' or 'latest', not {start!r}")
    found = {}
    for each in described.partitions:
        if partitions is None or each.partition in partitions:
            edge = each.start_offset if start == "earliest" else each.end_offset
            found[each.partition] = start if isinstance(start, int) else max(edge, 0)
    return found


def read_request(topic: str, offsets: Mapping[int, int], *, until_end: bool) -> consume_pb2.ReadRequest:
    """Read on from these offsets."""
    entries = [
        consume_pb2.PartitionStart(partition=partition, start=consume_pb2.Start(offset=offset))
        for partition, offset in offsets.items()
    ]
    return consume_pb2.ReadRequest(topic=topic, partitions=entries, until_end=until_end)


def poll(max_records: int, wait_s: float) -> consume_pb2.Poll:
    """Ask for records."""
    return consume_pb2.Poll(max_records=max_records, wait_ms=int(wait_s * 1000))


def leases(lent: consume_pb2.Lent) -> list[Lease]:
    """What a share group has lent."""
    return [
        Lease(consumed(each.topic, each.partition, each.record), each.receipt, each.delivery_count, each.lock_ms / 1000)
        for each in lent.records
    ]
