"""Lists in pages: `limit` and `skip` in the query, and how many there are in all in the answer."""

from collections.abc import Sequence
from typing import Annotated, TypeVar

import msgspec

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
