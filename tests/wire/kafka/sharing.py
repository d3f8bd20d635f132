"""A member of a share group that speaks in frames, for the tests of ShareFetch and ShareAcknowledge."""

from typing import Any

from attrs import define, field

from tests.wire.kafka.door import Client
from wire.kafka.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from wire.kafka.messages.share_acknowledge import (
    AcknowledgementBatch as AckBatch,
)
from wire.kafka.messages.share_acknowledge import (
    AcknowledgePartition,
    AcknowledgeTopic,
    ShareAcknowledgeRequest,
)
from wire.kafka.messages.share_fetch import (
    AcknowledgementBatch,
    FetchPartition,
    FetchTopic,
    ForgottenTopic,
    ShareFetchRequest,
)

GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)
GROUP_RESOURCE = 32

Acks = list[tuple[int, int, list[int]]]


async def configure_group(client: Client, group_id: str = "g", **configs: object) -> None:
    """Keys are written with underscores."""
    entries = [AlterableConfig(name.replace("_", "."), 0, str(value).lower()) for name, value in configs.items()]
    resource = AlterConfigsResource(GROUP_RESOURCE, group_id, entries)
    answer = await client.ask(IncrementalAlterConfigsRequest(resources=[resource]))
    assert answer.responses[0].error_code == 0, answer.responses[0].error_message


@define(eq=False)
class ShareMember:
    """Its epoch goes on by itself."""

    client: Client
    topic_id: bytes
    member_id: str = "m1"
    group_id: str = "g"
    epoch: int = 0
    version: int | None = None
    fetched: list[Any] = field(factory=list)

    async def fetch(self, acks: Acks | None = None, *, partitions: tuple[int, ...] = (0,), **options: Any) -> Any:
        """The whole answer."""
        await self.send_fetch(acks, partitions=partitions, **options)
        answer = await self.client.receive()
        if answer.error_code == 0:
            self.epoch += 1
        return answer

    async def send_fetch(
        self, acks: Acks | None = None, *, partitions: tuple[int, ...] = (0,), epoch: int | None = None, **options: Any
    ) -> None:
        batches = [AcknowledgementBatch(*each) for each in acks or ()]
        named = [FetchPartition(index, batches if not number else []) for number, index in enumerate(partitions)]
        options.setdefault("max_records", 500)
        options.setdefault("min_bytes", 1)
        forgotten = [ForgottenTopic(self.topic_id, list(options.pop("forgotten")))] if "forgotten" in options else []
        request = ShareFetchRequest(
            group_id=self.group_id,
            member_id=self.member_id,
            share_session_epoch=self.epoch if epoch is None else epoch,
            topics=[FetchTopic(self.topic_id, named)] if named else [],
            forgotten_topics_data=forgotten,
            **options,
        )
        await self.client.send(request, self.version)

    async def take(self, acks: Acks | None = None, **options: Any) -> list[tuple[int, int, int]]:
        """What it was given of the one partition: first, last, delivery count."""
        answer = await self.fetch(acks, **options)
        assert answer.error_code == 0, answer.error_message
        return acquired(answer)

    async def acknowledge(self, acks: Acks, *, partition: int = 0, epoch: int | None = None, **options: Any) -> int:
        """The partition's error code; the request's own, if it has one."""
        batches = [AckBatch(*each) for each in acks]
        request = ShareAcknowledgeRequest(
            group_id=self.group_id,
            member_id=self.member_id,
            share_session_epoch=self.epoch if epoch is None else epoch,
            topics=[AcknowledgeTopic(self.topic_id, [AcknowledgePartition(partition, batches)])],
            **options,
        )
        answer = await self.client.ask(request, self.version)
        if answer.error_code:
            return int(answer.error_code)
        self.epoch += 1
        return int(answer.responses[0].partitions[0].error_code)


def acquired(answer: Any) -> list[tuple[int, int, int]]:
    return [
        (each.first_offset, each.last_offset, each.delivery_count)
        for topic in answer.responses
        for partition in topic.partitions
        for each in partition.acquired_records
    ]
