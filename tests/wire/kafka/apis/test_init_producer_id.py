"""InitProducerId: ids that are never given twice."""

from pathlib import Path

from trio.testing import trio_test

from tests.wire.kafka.door import open_door
from wire.kafka.messages.init_producer_id import InitProducerIdRequest

INVALID_REQUEST = 42


@trio_test
async def test_every_producer_gets_its_own_id_also_after_a_restart(tmp_path: Path) -> None:
    given = []
    for _ in range(2):
        async with open_door(tmp_path) as door:
            client = await door.connect()
            for _ in range(3):
                answer = await client.ask(InitProducerIdRequest())
                assert (answer.error_code, answer.producer_epoch) == (0, 0)
                given.append(answer.producer_id)
    assert len(set(given)) == 6


@trio_test
async def test_requests_of_many_clients_at_once_get_different_ids(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        clients = [await door.connect() for _ in range(5)]
        for client in clients:
            await client.send(InitProducerIdRequest())
        assert len({(await client.receive()).producer_id for client in clients}) == 5


@trio_test
async def test_a_producer_that_brings_its_id_gets_another(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        client = await door.connect()
        first = await client.ask(InitProducerIdRequest())
        again = await client.ask(InitProducerIdRequest(producer_id=first.producer_id, producer_epoch=0))
        assert (again.error_code, again.producer_id != first.producer_id) == (0, True)


@trio_test
async def test_an_empty_transactional_id_is_refused(tmp_path: Path) -> None:
    async with open_door(tmp_path) as door:
        answer = await (await door.connect()).ask(InitProducerIdRequest(transactional_id=""))
        assert (answer.error_code, answer.producer_id) == (INVALID_REQUEST, -1)
