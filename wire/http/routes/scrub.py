"""`/scrub`: how far the scrubber is, and what it has found damaged on disk."""

import msgspec

from coordinators.access.rights import ALTER_CLUSTER
from coordinators.scrubbing import Scrubbing
from engine.partition.partitions import Partitions
from wire.http.messages import Call, Count, Page, PageQuery
from wire.http.rights import DESCRIBE_THE_CLUSTER, on
from wire.http.routing import Route


class DamagedPlace(msgspec.Struct):
    """A place in a file that is not as it was written. `topic` is empty for a file of the whole broker."""

    topic: str
    partition: int
    offset: int
    file: str
    position: Count
    problem: str
    found_ms: int


class DamagePage(Page):
    """Damaged places by file."""

    items: list[DamagedPlace]


class Scrub(msgspec.Struct):
    """Where the scrubber is. `completed_ms` is when everything was last looked at; 0 is never."""

    running: bool
    passes: Count
    started_ms: int
    completed_ms: int
    pass_bytes: Count
    rate_bytes: Count
    damages: DamagePage


class ScrubStart(msgspec.Struct):
    """Whether a pass was begun; it was not if one is under way."""

    started: bool


async def show_scrub(call: Call, scrubbing: Scrubbing, partitions: Partitions) -> Scrub:
    """How far it is, and a page of what is damaged."""
    query: PageQuery = call.query
    known = sorted(partitions.damages, key=lambda damage: (damage.file, damage.position))
    items = [
        DamagedPlace(
            damage.topic,
            damage.partition,
            damage.offset,
            damage.file,
            damage.position,
            damage.problem,
            damage.found_ms,
        )
        for damage in query.of(known)
    ]
    page = DamagePage(items=items, total=len(known), limit=query.limit, skip=query.skip)
    progress, rate_bytes = scrubbing.scrubber.progress, scrubbing.scrubber.rate_bytes
    return Scrub(
        progress.is_running,
        progress.passes,
        progress.started_ms,
        progress.completed_ms,
        progress.pass_bytes,
        rate_bytes,
        page,
    )


async def start_scrub(_: Call, scrubbing: Scrubbing) -> ScrubStart:
    """Look at everything on disk now, at the usual pace."""
    return ScrubStart(scrubbing.start_pass())


ROUTES = (
    Route(
        "GET",
        "/scrub",
        show_scrub,
        "What is known to be damaged on disk",
        answer=Scrub,
        query=PageQuery,
        rights=DESCRIBE_THE_CLUSTER,
    ),
    Route(
        "POST",
        "/scrub",
        start_scrub,
        "Look at everything on disk now",
        answer=ScrubStart,
        rights=on(ALTER_CLUSTER),
    ),
)
