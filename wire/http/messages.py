"""A request and an answer of the operations door, free of the protocol's details; and lists in pages.

A list takes `limit` and `skip` in its query, and its answer says how many items there are in all.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Annotated, Any, Protocol, TypeVar

import msgspec
from attrs import define, field, frozen

from coordinators.access.callers import ANONYMOUS, Caller
from wire.inner.namespaces import EVERYBODYS, Names

NOBODY = Caller(ANONYMOUS, "")


class AnswerSink(Protocol):
    """Where an answer is written that is not known as a whole."""

    def at_a_time(self) -> int:
        """How many bytes of records are best sent at a time: less while many callers have much to take."""

    async def send(self, data: bytes) -> None:
        """Send a piece; waits while the caller does not take what it was sent, and ends the connection if it does not
        for too long."""


@frozen
class Request:
    """As it arrived. Header names are in lower case; the last of several of one name counts."""

    method: str
    target: str
    headers: Mapping[str, str] = field(factory=dict)
    body: bytes = b""
    pieces: AsyncIterator[bytes] | None = field(default=None, eq=False)
    """The body as it arrives, of a route that takes it so; `body` is empty then. No piece is asked for before the one
    before it is done with: so whoever sends faster waits."""

    is_carried: bool = False
    """Whether another node has carried it here, for what lives on this one."""

    @property
    def content_type(self) -> str:
        """Of the body, without parameters; empty if it does not say."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


@frozen
class Response:
    """As it goes out."""

    status: int
    body: bytes = b""
    media_type: str = "application/json"
    headers: Mapping[str, str] = field(factory=dict)
    write: Callable[[AnswerSink], Awaitable[None]] | None = field(default=None, eq=False)
    """Writes the body piece by piece, for an answer that is not known as a whole; `body` is empty then. What it raises
    ends the connection: the caller sees that the answer is not complete."""


@define
class Call:
    """A request that was found right: what a route's handler is given, besides the services that it names."""

    place: Any
    """The parameters of the path, as the route declares them."""
    query: Any
    body: Any
    request: Request
    caller: Caller = NOBODY
    """Whose call it is."""
    names: Names = EVERYBODYS
    """What the names mean that it says, and how it knows those that it is told."""


T = TypeVar("T")

MAX_LIMIT = 1000
Limit = Annotated[int, msgspec.Meta(ge=1, le=MAX_LIMIT, description="How many items to give at most.")]
Skip = Annotated[int, msgspec.Meta(ge=0, le=2**53, description="How many items to leave out before.")]
Count = Annotated[int, msgspec.Meta(ge=0)]


class PageQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Which part of a list."""

    limit: Limit = 100
    skip: Skip = 0

    def of(self, items: Sequence[T]) -> Sequence[T]:
        """That part."""
        return items[self.skip : self.skip + self.limit]


class Page(msgspec.Struct, kw_only=True):
    """A part of a list; `total` counts all of it."""

    total: Count
    limit: int
    skip: int
