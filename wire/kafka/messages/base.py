"""What the generated message classes share: the types of fields that carry record batches.

A Fetch response does not hold the records it sends but names where they lie: a `Region` of a file. The
encoder writes its size and splices it, unread, between the encoded parts.
"""

from collections.abc import Sequence
from typing import Any, Protocol

Message = Any
"""One of the generated classes. Which one follows from api key and version, which mypy cannot know."""


class Region(Protocol):
    """Bytes that lie elsewhere, of a known size."""

    @property
    def size(self) -> int: ...


Buffer = bytes | bytearray | memoryview
Part = bytes | Region
RequestRecords = bytes | memoryview | None
ResponseRecords = bytes | memoryview | Region | Sequence[Region] | None

ZERO_UUID = bytes(16)
