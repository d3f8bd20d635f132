"""`POST /dlq/{topic}/redrive`: dead letters sent again to where they came from, each exactly once; or what would be.

It is the command line's `tidegate dlq redrive`: both keep one ledger, so that neither sends again what the other has
sent.
"""

from typing import Annotated

import msgspec

from engine.clock import Clock
from wire.http.messages import Call, Count
from wire.http.rights import BY_REQUESTS
from wire.http.routes.messages import DOOR
from wire.http.routes.topics import INT_MAX, TopicName, TopicPlace
from wire.http.routing import Route
from wire.inner.asking import InnerClient
from wire.inner.redriving import Copy, WantedLetters, redriven
from wire.inner.residents import Residents

MOST_LETTERS = 1_000


class LetterPlace(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Where a letter lies."""

    partition: Annotated[int, msgspec.Meta(ge=0, le=INT_MAX)]
    offset: Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]


class RedriveOrder(msgspec.Struct, forbid_unknown_fields=True):
    """Which letters: all that nobody has dealt with, those of one `reason`, or these; `to` sends them elsewhere than
    where they came from."""

    reason: Annotated[str, msgspec.Meta(max_length=10_000)] | None = None
    letters: Annotated[list[LetterPlace], msgspec.Meta(min_length=1, max_length=MOST_LETTERS)] | None = None
    to: TopicName | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=MOST_LETTERS)] = 500
    dry_run: Annotated[bool, msgspec.Meta(description="Only tell what would be sent where.")] = False


class RedrivenLetter(msgspec.Struct):
    """A letter. `to_partition` is null where its key decides; `left` says why it is not sent, null if it is."""

    partition: int
    offset: int
    reason: str | None
    to: str | None
    to_partition: int | None
    left: str | None


class RedrivenLetters(msgspec.Struct):
    """`sent` are those that were sent, or would be; `settled_before` were met again; with `more` there are others to
    look at, by the same call."""

    topic: str
    run: str
    dry_run: bool
    sent: Count
    settled_before: Count
    more: bool
    letters: list[RedrivenLetter]


async def redrive(call: Call, inner: InnerClient, residents: Residents, clock: Clock) -> RedrivenLetters:
    """Send dead letters again, or only tell what would be sent where."""
    topic, order = call.place.topic, call.body
    places = None if order.letters is None else {(each.partition, each.offset) for each in order.letters}
    wanted = WantedLetters(order.limit, order.reason, places, order.to)
    run, found = await redriven(inner, residents, clock, call.caller, DOOR, topic, wanted, dry_run=order.dry_run)
    letters = [_shown(each) for each in found.copies]
    sent = sum(each.left is None for each in letters)
    return RedrivenLetters(topic, run, order.dry_run, sent, found.before, found.has_more, letters)


def _shown(copy: Copy) -> RedrivenLetter:
    record = copy.letter.record
    partition = None if copy.record is None else copy.record.partition
    reason = copy.letter.told("error")
    return RedrivenLetter(record.partition, record.offset, reason, copy.target, partition, copy.left)


ROUTES = (
    Route(
        "POST",
        "/dlq/{topic}/redrive",
        redrive,
        "Send dead letters again, or tell what would be sent where",
        answer=RedrivenLetters,
        place=TopicPlace,
        body=RedriveOrder,
        problems=(403, 404, 409, 503),
        for_tenants=True,
        rights=BY_REQUESTS,
    ),
)
