"""DeleteTopics: by name, by id; the name is free at once and the files go."""

from pathlib import Path

from trio.testing import trio_test

from tests.wire.kafka.door import open_door, until
from tests.wire.kafka.requests import batch, client_of_topic, create_topic, fetched, produced
from wire.kafka.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState

UNKNOWN_TOPIC_OR_PARTITION, INVALID_REQUEST, TOPIC_DELETION_DISABLED, UNKNOWN_TOPIC_ID = 3, 42, 73, 100


@trio_test
async def test_a_topic_is_gone_and_its_name_free(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path) as (client, topic_id):
        await produced(client, "t", batch())
        answer = await client.ask(DeleteTopicsRequest(topic_names=["t", "missing"]), 5)
        assert [entry.error_code for entry in answer.responses] == [0, UNKNOWN_TOPIC_OR_PARTITION]
        assert (await produced(client, "t", batch())).error_code == UNKNOWN_TOPIC_OR_PARTITION
        again = await create_topic(client, "t")
        assert again.topic_id != topic_id
        assert (await fetched(client, "t")).high_watermark == 0


@trio_test
async def test_a_topic_is_deleted_by_id_from_version_6(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path) as (client, topic_id):
        states = [DeleteTopicState(None, topic_id), DeleteTopicState(None, b"\1" * 16), DeleteTopicState("t", topic_id)]
        answer = await client.ask(DeleteTopicsRequest(topics=[*states, DeleteTopicState(None)]), 6)
        assert answer.responses[0].name == "t"
        codes = [entry.error_code for entry in answer.responses]
        assert codes == [0, UNKNOWN_TOPIC_ID, INVALID_REQUEST, INVALID_REQUEST]


@trio_test
async def test_the_files_are_removed(tmp_path: Path) -> None:
    async with client_of_topic(tmp_path) as (client, topic_id):
        await produced(client, "t", batch())
        directory = tmp_path / "topics" / topic_id.hex()
        assert directory.is_dir()
        await client.ask(DeleteTopicsRequest(topics=[DeleteTopicState("t")]))
        await until(lambda: not directory.exists())


@trio_test
async def test_deletion_can_be_switched_off(tmp_path: Path) -> None:
    async with open_door(tmp_path, {"delete.topic.enable": False}) as door:
        client = await door.connect()
        await create_topic(client, "t")
        answer = await client.ask(DeleteTopicsRequest(topics=[DeleteTopicState("t")]))
        assert answer.responses[0].error_code == TOPIC_DELETION_DISABLED
        assert (await produced(client, "t", batch())).error_code == 0
