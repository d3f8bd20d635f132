"""Validation in the publish path: batches for topics that ask for it are held against schemas before they are taken.

A batch is taken whole or refused whole, with INVALID_RECORD and the records at fault. What is small is judged at once,
on the loop; the rest in a thread, where schemas are read too. Nothing is asked of anybody else: schemas are in the
registry's memory. What the broker itself writes is not looked at.
"""

from collections.abc import Sequence

from attrs import define, field

from coordinators.records.publication import Publication
from coordinators.schemas.registry import Registry
from coordinators.schemas.validation.homes import SchemaHomes, everybodys_home
from coordinators.schemas.validation.judging import Judging
from coordinators.schemas.validation.plain import PlainJudging
from coordinators.schemas.validation.rules import SchemaRules, schema_rules
from coordinators.schemas.validation.validators import Validators
from coordinators.topic_view import Topic, TopicUpdate, TopicView
from coordinators.waiting import in_worker
from engine.errors import BrokerError, InvalidRecord, kept
from engine.ids import TopicId
from engine.log.types import Origin
from engine.records.batch import Batch
from engine.records.walk import refuse
from engine.workers import Workers

AT_ONCE_RECORDS = 500
"""Of which only the ids are looked at; some half millisecond."""
AT_ONCE_PAYLOADS = 64
AT_ONCE_PAYLOAD_BYTES = 64 * 1024
"""Of payloads that are looked into."""


@define(eq=False)
class SchemaValidation:
    """See the module."""

    validators: Validators
    workers: Workers
    rules: dict[TopicId, SchemaRules] = field(factory=dict, init=False)
    """Of the topics that ask for anything: where there are none, nobody pays for the others."""

    @classmethod
    def compose(
        cls,
        registry: Registry,
        view: TopicView,
        workers: Workers,
        most_validators: int,
        home: SchemaHomes = everybodys_home,
    ) -> "SchemaValidation":
        """For the topics that there are."""
        validation = cls(Validators(registry, most_validators, home), workers)
        for topic in view:
            validation.topic_changed(TopicUpdate(None, topic))
        return validation

    def topic_changed(self, update: TopicUpdate) -> None:
        """Follow a topic's config."""
        topic = update.after or update.before
        assert topic is not None, "an update is of a topic"
        rules = None if update.after is None or topic.internal else schema_rules(topic.config)
        if rules is None:
            self.rules.pop(topic.topic_id, None)
        else:
            self.rules[topic.topic_id] = rules

    def concerns(self, topic: Topic) -> bool:
        """Whether a topic asks for anything."""
        return topic.topic_id in self.rules

    # -- at once

    def are_done_at_once(self, publications: Sequence[Publication]) -> bool:
        """Judge batches, which may be refused then; False if that takes too long for the loop."""
        return all(self._is_done_at_once(publication) for publication in publications)

    def _is_done_at_once(self, publication: Publication) -> bool:
        rules = self._rules_of(publication)
        if rules is None:
            return True
        batch = publication.batch
        if not _is_small(batch, rules):
            return False
        try:
            judging = self._judging(publication, rules)
            judging.look(_sound_records(batch))
            judging.find()
            if not judging.is_quick:
                return False
            publication.refusal = judging.verdict()
        except BrokerError as error:
            publication.refusal = kept(error)
        publication.is_judged = True
        return True

    # -- slowly

    async def judge(self, publication: Publication) -> None:
        """The same in threads, of a batch in memory of its own; it may be made anew."""
        rules = self._rules_of(publication)
        if rules is None:
            return
        try:
            if rules.plain_subject:
                await self._judge_plain(publication, rules)
            else:
                judging = self._judging(publication, rules)
                await in_worker(self.workers, _look, judging, publication.batch)
                judging.find()
                publication.refusal = await self._verdict(judging)
        except BrokerError as error:
            publication.refusal = kept(error)
        publication.is_judged = True

    async def _judge_plain(self, publication: Publication, rules: SchemaRules) -> None:
        """Values that name no schema; keys may have theirs."""
        batch = publication.batch
        judging = None if rules.key is None else self._judging(publication, rules)
        if judging is not None:
            await in_worker(self.workers, _look, judging, batch)
            judging.find()
            publication.refusal = await self._verdict(judging)
        if publication.refusal is None:
            plain = PlainJudging.find(self.validators, rules.plain_subject, publication.topic.name)
            config = publication.partition.log.config
            publication.batch = await in_worker(self.workers, _stamped, plain, batch, config.level(batch.codec))

    async def _verdict(self, judging: Judging) -> InvalidRecord | None:
        """In a thread, unless going there takes longer than the verdict."""
        return judging.verdict() if judging.goes_by_ids else await in_worker(self.workers, judging.verdict)

    def _rules_of(self, publication: Publication) -> SchemaRules | None:
        if publication.is_judged or publication.refusal is not None or publication.batch.origin is not Origin.CLIENT:
            return None
        return self.rules.get(publication.topic.topic_id)

    def _judging(self, publication: Publication, rules: SchemaRules) -> Judging:
        return Judging(self.validators, publication.topic.name, rules, publication.batch.header.record_count)


def _is_small(batch: Batch, rules: SchemaRules) -> bool:
    if rules.plain_subject or (batch.codec and batch.opened is None):
        return False
    if not rules.is_full:
        return batch.header.record_count <= AT_ONCE_RECORDS
    return batch.header.record_count <= AT_ONCE_PAYLOADS and len(batch.section()) <= AT_ONCE_PAYLOAD_BYTES


def _look(judging: Judging, batch: Batch) -> None:
    """[thread]"""
    judging.look(_sound_records(batch))


def _stamped(plain: PlainJudging, batch: Batch, level: int | None) -> Batch:
    """[thread]"""
    return plain.stamped(batch, _sound_records(batch), level)


def _sound_records(batch: Batch) -> bytes:
    """[any thread] The records, uncompressed, if there are as many as the batch says, and each is whole."""
    batch.verify()
    buffer, start = batch.walked()
    if batch.unsound is not None:
        refuse(buffer, batch.unsound, batch.header.record_count)
    return bytes(memoryview(buffer)[start:])
