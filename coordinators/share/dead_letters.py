"""Records that a share group has given up, on their way to the dead-letter topic, exactly once
(`coordinators/letter_writing.py`).

A record that was rejected, or delivered too often, is ARCHIVING in the durable state of its share partition until it is
known to be in the dead-letter topic; then it is ARCHIVED. In between:

1. *Intended.* Which offsets go next, in which order, under which producer id and from which sequence number on, to
   which topic, is written with the state, before any of them goes.
2. *Sent.* They are one batch with these sequence numbers. Sent again after a crash, it is known there.
3. *Told.* One write makes them ARCHIVED and raises the number of letters sent.

A crash before 1 sends nothing, one after 3 nothing more; in between the next leader finds the intent and sends the same
letters under the same numbers. A letter keeps its number, whatever becomes of its record: where that is gone by now
(deleted, compacted), the letter says so and holds none.

What cannot be sent stays ARCHIVING: it fills the window, and nothing is lost.
"""

import logging
from collections import Counter
from collections.abc import Iterable, Sequence
from heapq import nsmallest

import trio
from attrs import define, evolve, field

from coordinators.letter_rules import check_group_target, check_may_be_made, check_own_target
from coordinators.letter_writing import (
    RETRY_S,
    Header,
    Letter,
    LetterWriting,
    letter_batch,
)
from coordinators.share.ports import LetterProducer
from coordinators.share.runs import ARCHIVING, OffsetRun
from coordinators.share.share_partition import SharePartition
from coordinators.share.source_records import SourceRecord, read_records
from coordinators.tenants.letter_names import origin_headers
from coordinators.topic_names import NAME_LENGTH_MAX
from coordinators.topics import Topic
from coordinators.waiting import Breathing, in_worker, result_of

logger = logging.getLogger("tidegate.dead_letters")

TOGETHER = 500
TOGETHER_BYTES = 512 * 1024
"""Of one batch: a topic's `max.message.bytes` does not bind it, but readers may like it to hold."""
TOLD_AT_ONCE = 50
SUFFIX = ".dlq"
GONE = b"The record was gone before it could be copied."


@define(eq=False)
class _Post:
    """The letters of one share partition."""

    waiting: set[int] = field(factory=set)
    """Offsets that are durably ARCHIVING."""
    producer: LetterProducer | None = None
    """As it is known to be durable."""


@define(eq=False)
class ShareDeadLetters:
    """See the module. One task for each share partition that has any."""

    writing: LetterWriting
    counts: Counter[str] = field(factory=Counter)
    """Letters that have arrived, by reason."""
    gone: int = 0
    """Letters whose records were gone."""
    _posts: dict[SharePartition, _Post] = field(factory=dict)
    _started: bool = False

    def start(self) -> None:
        """The broker runs: go on with what was left."""
        self._started = True
        for share in list(self._posts):
            self._begin(share)

    def wake(self, share: SharePartition, letters: Iterable[OffsetRun]) -> None:
        """These have to be sent."""
        post = self._posts.get(share)
        is_new = post is None
        if post is None:
            post = self._posts[share] = _Post(producer=share.letter_producer)
        for run in letters:
            post.waiting.update(range(run.first, run.last + 1))
        if is_new and self._started:
            self._begin(share)

    def _begin(self, share: SharePartition) -> None:
        self.writing.controller.background.start_soon(self._deliver, share)

    def statistics(self) -> dict[str, int]:
        """What has arrived, what is on its way, whose records were gone."""
        arrived, gone = sum(self.counts.values()), self.gone
        return {"dead_letters": arrived, "dead_letters_waiting": self.waiting, "dead_letters_without_record": gone}

    @property
    def waiting(self) -> int:
        """How many letters are on their way."""
        return sum(len(post.waiting) for share, post in self._posts.items() if share.closed is None)

    async def _deliver(self, share: SharePartition) -> None:
        post = self._posts[share]
        name = f"{share.topic}-{share.place.partition_index}, share group {share.place.group_id}"

        def waiting() -> int:
            # Whoever leads it next, or loads it anew, finds them in the state.
            return 0 if share.closed is not None else len(post.waiting)

        try:
            await self.writing.persist(name, waiting, lambda: self._deliver_some(share, post))
        finally:
            del self._posts[share]

    async def _deliver_some(self, share: SharePartition, post: _Post) -> None:
        writing = self.writing
        source = writing.controller.topics.by_id.get(share.place.topic_id)
        if source is None:
            # Its topic is being deleted, and the share partition with it.
            await trio.sleep(RETRY_S)
            return
        offsets, records = await self._intend(share, post, source)
        producer = post.producer
        assert producer is not None, "an intent has a producer"
        topics = writing.controller.topics
        if producer.target not in topics.by_name:
            check_may_be_made(producer.target, topics.settings)
        target = await writing.target(producer.target, source, share.place.partition_index)
        letters, breathing = list[Letter](), Breathing(TOLD_AT_ONCE)
        for offset in offsets:
            record = records.get(offset)
            letters.append((record, self._told(share, source, offset, record)))
            await breathing.did()
        now_ms, workers = writing.clock.now_ms(), writing.publishing.opener.workers
        batch = await in_worker(workers, letter_batch, letters, now_ms, producer.producer_id, producer.sent)
        if not await writing.send(target, [batch]):
            # The topic there is not the one that the letters before these went to, or has forgotten them: there is a
            # gap before these, and none of them has arrived.
            await self._begin_anew(share, post, producer.target)
            return
        await self._settle(share, post, offsets)

    async def _intend(
        self, share: SharePartition, post: _Post, source: Topic
    ) -> tuple[list[int], dict[int, SourceRecord]]:
        """What goes next, durably, and its records."""
        producer = post.producer
        if producer is not None and producer.intended:
            offsets = [offset for first, last in producer.intended for offset in range(first, last + 1)]
            if post.waiting.issuperset(offsets):
                records, looked = await self._records(share, source, offsets, most_bytes=None)
                assert looked == len(offsets), "all of an intent is sent"
                return offsets, records
            # The state has begun anew since, and forgotten them.
            await self._begin_anew(share, post, producer.target)
        offsets = nsmallest(TOGETHER, post.waiting)
        records, looked = await self._records(share, source, offsets, most_bytes=TOGETHER_BYTES)
        offsets = offsets[:looked]
        wanted = self._target(share, source)
        self._check_target(share, wanted)
        if post.producer is None or post.producer.target != wanted:
            await self._begin_anew(share, post, wanted)
        assert post.producer is not None
        await self._write(share, post, evolve(post.producer, intended=tuple(_ranges(offsets))))
        return offsets, records

    async def _begin_anew(self, share: SharePartition, post: _Post, target: str) -> None:
        """From here on the letters go under a producer id of their own, beginning with sequence number 0."""
        await self._write(share, post, LetterProducer(await self.writing.new_producer_id(), 0, target))

    async def _write(self, share: SharePartition, post: _Post, producer: LetterProducer) -> None:
        await result_of(share.note_letters(producer))
        post.producer = producer

    async def _settle(self, share: SharePartition, post: _Post, offsets: Sequence[int]) -> None:
        """They are there, durably."""
        producer, window = post.producer, share.window
        assert producer is not None
        assert window is not None
        reasons = {offset: window.runs.at(offset).reason for offset in offsets}
        after = evolve(producer, sent=producer.sent + len(offsets), intended=())
        await result_of(share.note_letters(after, list(_ranges(offsets))))
        post.producer = after
        post.waiting.difference_update(offsets)
        self.counts.update(reasons.values())
        share.traces.dead_lettered(reasons.items())

    async def _records(
        self, share: SharePartition, source: Topic, offsets: Sequence[int], most_bytes: int | None
    ) -> tuple[dict[int, SourceRecord], int]:
        if not share.rules.copies_dead_letters:
            return {}, len(offsets)
        opener = self.writing.publishing.opener
        bound = opener.releases.config(source).extensions_max_decompressed_bytes
        most = 2**63 if most_bytes is None else most_bytes
        found, looked = await read_records(share.partition, offsets, opener, bound, most)
        if missing := looked - len(found):
            logger.warning(
                "%s: %d records for dead letters of %s are gone",
                share.partition.log.name,
                missing,
                share.place.group_id,
            )
            self.gone += missing
        return found, looked

    def _target(self, share: SharePartition, source: Topic) -> str:
        """The group's own topic for letters, else its source's."""
        name = share.rules.dead_letter_topic or self.writing.publishing.opener.releases.config(source).dead_letters_of(
            source.name
        )
        if name == source.name or len(name) > NAME_LENGTH_MAX:
            # Letters in the topic itself would be delivered and die again, for ever.
            name = source.name[: NAME_LENGTH_MAX - len(SUFFIX)] + SUFFIX
        return name

    def _check_target(self, share: SharePartition, name: str) -> None:
        """Raise if letters may not go there: they wait, and once they are intended they go."""
        topics = self.writing.controller.topics
        topic = topics.by_name.get(name)
        if name == share.rules.dead_letter_topic:
            check_group_target(name, topic, topics.settings)
        else:
            check_own_target(name, topic)
        if topic is None:
            check_may_be_made(name, topics.settings)

    def _told(self, share: SharePartition, source: Topic, offset: int, record: SourceRecord | None) -> list[Header]:
        window = share.window
        assert window is not None
        run = window.runs.at(offset)
        assert run.state is ARCHIVING, "what is sent is a letter"
        tenants = self.writing.controller.topics.tenants
        told: list[Header] = [
            *origin_headers(tenants, source.name, share.place.group_id),
            (b"__dlq.errors.partition", b"%d" % share.place.partition_index),
            (b"__dlq.errors.offset", b"%d" % offset),
            (b"__dlq.errors.delivery.count", b"%d" % run.count),
            (b"__dlq.errors.message", run.reason.encode()),
        ]
        if run.owner:
            told.append((b"__dlq.errors.member", run.owner.encode()))
        if run.first_delivered_ms:
            told.append((b"__dlq.errors.first.delivery", b"%d" % run.first_delivered_ms))
            told.append((b"__dlq.errors.last.delivery", b"%d" % run.last_delivered_ms))
        if record is not None:
            told.append((b"__dlq.errors.timestamp", b"%d" % record.timestamp_ms))
        elif share.rules.copies_dead_letters:
            told.append((b"__dlq.errors.record", GONE))
        return told


def _ranges(offsets: Iterable[int]) -> Iterable[tuple[int, int]]:
    """Neighbours that come one after the other, as first and last."""
    first = last = -1
    for offset in offsets:
        if first >= 0 and offset == last + 1:
            last = offset
            continue
        if first >= 0:
            yield first, last
        first = last = offset
    if first >= 0:
        yield first, last
