"""What a caller gets with a record of a share group, and shows when it has worked on it.

    orders:3:1207:2:1-5f0c...e1.9a7b31c04d

The topic, the partition, the offset, how often the record was delivered, and the nonce: the member that has it, whose
id names its home node (`homes.py`), and a number of this one delivery. So a receipt can be shown by any connection of
its principal, and whichever node is shown it knows where it counts.
"""

from typing import NamedTuple

from engine.errors import InvalidRequest

MAX_RECEIPT_LENGTH = 512


class WorkReceipt(NamedTuple):
    """See the module."""

    topic: str
    partition: int
    offset: int
    delivery_count: int
    member_id: str
    number: str

    def __str__(self) -> str:
        place = f"{self.topic}:{self.partition}:{self.offset}:{self.delivery_count}"
        return f"{place}:{self.member_id}.{self.number}"


def read_receipt(text: str) -> WorkReceipt:
    """Out of its text."""
    parts = text.split(":") if len(text) <= MAX_RECEIPT_LENGTH else []
    nonce = parts[-1].split(".") if len(parts) == 5 else []
    if len(nonce) != 2 or not all(_is_number(each) for each in parts[1:4]):
        raise InvalidRequest(f"{text[:80]!r} is not a receipt, which is topic:partition:offset:deliveryCount:nonce")
    return WorkReceipt(parts[0], int(parts[1]), int(parts[2]), int(parts[3]), *nonce)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 19
