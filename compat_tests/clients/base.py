"""The words that the clients share: what is sent, what is read, and what a client can be asked."""

from collections.abc import Sequence
from typing import Protocol

from attrs import frozen

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
Header = tuple[str, bytes | None]


@frozen
class Record:
    """What a scenario sends. Without a timestamp the client takes its own clock."""

    value: bytes | None
    key: bytes | None = None
    headers: tuple[Header, ...] = ()
    timestamp_ms: int | None = None
    partition: int = 0


@frozen
class Consumed:
    """What a client read."""

    offset: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...]
    timestamp_ms: int
    partition: int = 0

    @property
    def content(self) -> tuple[bytes | None, bytes | None, tuple[Header, ...]]:
        return self.key, self.value, self.headers


class Client(Protocol):
    """A Kafka client, seen alike."""

    name: str

    def produce(self, bootstrap: str, topic: str, records: Sequence[Record], codec: str = "none") -> None:
        """Sends the records in order with acks=all; returns when all are acknowledged, raises otherwise."""

    def consume(self, bootstrap: str, topic: str, count: int, *, partition: int = 0, offset: int = 0) -> list[Consumed]:
        """Reads `count` records from `offset` on; fewer if they do not come within some seconds."""
