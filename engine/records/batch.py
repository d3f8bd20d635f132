"""A record batch on its way into a partition: parsed once, verified once, and everything that is found out about it.

Whoever takes a batch in makes a `Batch` of it; it travels from there to the log. So its header is read and its checksum
computed one time each, and whatever takes long (opening a compressed batch, reading over its records, compressing them
anew) can be done by a thread beforehand: those who come later find it done.

A `Batch` is framed: its header is one of format v2, and says the number of bytes that there are.
"""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from engine.errors import CorruptMessage, InvalidRecord
from engine.files.files import Buffer
from engine.log.types import Origin
from engine.records.compression import MAX_DECOMPRESSED_BYTES, compress, decompress
from engine.records.layout import CODEC_MASK, HEADER_SIZE, BatchHeader, checksum, parse_header, split_batches
from engine.records.walk import first_unsound
from engine.stage.headers import OpenedRecord

_NO_BYTES = memoryview(b"")


class Publisher(Struct, frozen=True):
    """Who brings a batch, as far as that is known."""

    client_id: str | None = None
    address: str | None = None
    door: str | None = None
    """The door of the broker's own that has chosen the partition, if one has."""


NOBODY = Publisher()
"""The broker itself."""


class Batch(Struct, eq=False):
    """See the module."""

    data: memoryview
    """A view, so that nothing on its way to the disk copies it."""
    header: BatchHeader
    origin: Origin = Origin.CLIENT
    publisher: Publisher = NOBODY
    opened: Buffer | None = None
    """The records of a compressed batch, uncompressed, once somebody has opened it."""
    asked: Sequence[OpenedRecord] | None = None
    """What each record asks for by its headers; None if nobody has looked, or none can ask for anything."""
    hold: bool = False
    """Whether any record asks for what only a stage can do."""
    shows_lanes: bool = True
    """Whether `priority.enable` was on when the headers were read."""
    recompressed: tuple[int, bytes] | None = None
    """A codec, and the records in it."""
    is_intact: bool = False
    """Whether the checksum was found to be right."""
    is_walked: bool = False
    unsound: tuple[int, int] | None = None
    """What the walk has found; see engine/records/walk.py."""

    @property
    def codec(self) -> int:
        """In which the records are compressed."""
        return self.header.attributes & CODEC_MASK

    def verify(self) -> None:
        """Refuse a batch that was damaged on its way."""
        if not self.is_intact:
            if checksum(self.data) != self.header.crc:
                raise CorruptMessage(f"the batch's checksum is not {self.header.crc:#010x}")
            self.is_intact = True

    def section(self, bound: int = MAX_DECOMPRESSED_BYTES) -> Buffer:
        """The records, uncompressed; `TooLargeDecompressed` where they have to be opened now and exceed the bound."""
        if self.opened is not None:
            return self.opened
        section = self.data[HEADER_SIZE:]
        codec = self.header.attributes & CODEC_MASK
        if codec:
            self.opened = decompress(codec, section, bound)
            return self.opened
        return section

    def walked(self) -> tuple[Buffer, int]:
        """Some bytes and where in them the records begin, uncompressed, that were read over: `unsound` tells."""
        # A slice of the batch would be one more object for each of the many that are not compressed.
        buffer, start = (self.section(), 0) if self.header.attributes & CODEC_MASK else (self.data, HEADER_SIZE)
        if not self.is_walked:
            self.unsound = first_unsound(buffer, start, self.header.record_count)
            self.is_walked = True
        return buffer, start

    def recompress(self, codec: int, level: int | None) -> bytes:
        """The records in another codec."""
        if self.recompressed is None or self.recompressed[0] != codec:
            self.recompressed = codec, compress(codec, self.section(), level)
        return self.recompressed[1]

    def copied(self) -> "Batch":
        """The same in memory of its own: what it came in is a buffer that will be filled again."""
        opened = None if self.opened is None else bytes(self.opened)
        return replace(self, data=memoryview(bytes(self.data)), opened=opened)

    def bare(self) -> "Batch":
        """A copy again, without the records that were opened and all that was found out about them."""
        return Batch(memoryview(bytes(self.data)), self.header, self.origin, self.publisher)

    def let_go(self) -> None:
        """It was stored, or will not be: hold its bytes no longer, though somebody may still wait for the answer."""
        self.data = _NO_BYTES
        self.opened = self.asked = self.recompressed = None


def made(data: bytes, origin: Origin) -> Batch:
    """A batch that the broker has just made itself: nobody need look whether it is intact."""
    return Batch(memoryview(data), parse_header(data), origin, is_intact=True)


def split(records: Buffer, origin: Origin = Origin.CLIENT) -> list[Batch]:
    """The whole batches that `records` consists of; anything else is refused."""
    return [Batch(data, header, origin) for header, data in split_batches(records)]


def whole(records: Buffer, origin: Origin = Origin.CLIENT) -> Batch:
    """The one batch that these bytes are."""
    batches = split(records, origin)
    if len(batches) != 1:
        raise InvalidRecord(f"{len(batches)} batches where one is expected")
    return batches[0]
