"""Fields of this broker's own in Kafka's messages, most of them between nodes: tagged, with numbers that Kafka does not
use, so that whoever does not know them passes over them.

What a node sends another about a share partition is more than Kafka's messages have room for. The whole of it goes in
the format in which it is kept (`coordinators/share/record_formats.py`), which is one format less to keep in step.

Clients may send some: a member of a share group says for how long what it releases should wait, and which delivery of a
record it speaks of. A broker that does not know them releases at once, and takes what is said of whichever delivery.

A marker of a transaction names the epochs of the leaders that it is meant for: four bytes for each partition, in their
order. It may arrive long after it was sent, when somebody else has written it and the next transaction has begun.
"""

from attrs import evolve

from wire.kafka.codec.schema import Direction, FieldSchema, StructSchema

FIRST_OWN_TAG = 10_000


def _bytes(name: str) -> FieldSchema:
    return FieldSchema(name, "bytes", is_array=False, nullable=True, tag=FIRST_OWN_TAG, default=None, struct=None)


def _number(name: str, default: int, tag: int = FIRST_OWN_TAG) -> FieldSchema:
    return FieldSchema(name, "int64", is_array=False, nullable=False, tag=tag, default=default, struct=None)


OWN_FIELDS: dict[tuple[str, Direction, str], tuple[FieldSchema, ...]] = {
    ("write_share_group_state", "request", "PartitionData"): (_bytes("tidegate_change"),),
    ("read_share_group_state", "response", "PartitionResult"): (_bytes("tidegate_state"),),
    ("read_share_group_state_summary", "request", "PartitionData"): (_number("tidegate_letters", 0),),
    ("share_acknowledge", "request", "AcknowledgementBatch"): (
        _number("tidegate_backoff_ms", -1),
        _number("tidegate_delivery_count", -1, FIRST_OWN_TAG + 1),
    ),
    ("write_txn_markers", "request", "WritableTxnMarkerTopic"): (_bytes("tidegate_leader_epochs"),),
}
"""By the API's module, the message, and the struct that they are added to."""


def is_own(field: FieldSchema) -> bool:
    """Whether Kafka does not know it."""
    return field.tag is not None and field.tag >= FIRST_OWN_TAG


def with_own(module: str, direction: Direction, schema: StructSchema) -> StructSchema:
    """The schema with our fields, in all structs that it is made of."""
    fields = tuple(
        field if field.struct is None else evolve(field, struct=with_own(module, direction, field.struct))
        for field in schema.fields
    )
    return evolve(schema, fields=fields + OWN_FIELDS.get((module, direction, schema.name), ()))
