"""kill -9 of a broker in the middle of a stream: what was acknowledged is there."""

import queue
import threading
from collections.abc import Callable, Iterator

import grpc
import pytest

from compat_tests.grpc.stubs import PATIENCE_S, Stubs, stubs
from tidegate.client.messages import produce_pb2
from tidegate.client.messages.records_pb2 import NewRecord
from tidegate.testing import broker

BATCH = 50


@pytest.mark.parametrize("acknowledged", [5, 200])
def test_nothing_that_was_acknowledged_is_lost(acknowledged: int) -> None:
    with broker({"grpc.port": "-1"}) as running:
        with stubs(running.grpc_address) as door:
            door.create_topic("t")
            taken = _written(door, acknowledged, running.kill)
        running.start()
        with stubs(running.grpc_address) as door:
            found = [record.value for record in door.read_all("t")]
    assert len(taken) >= acknowledged * BATCH
    assert found[: len(taken)] == taken
    assert len(found) == len(set(found))


def _written(door: Stubs, acknowledged: int, kill: Callable[[], None]) -> list[bytes]:
    """The values of batches that were acknowledged on a stream until the broker was killed."""
    room: queue.Queue[int] = queue.Queue(8)
    taken: list[bytes] = []
    killer = threading.Thread(target=kill)

    def requests() -> Iterator[produce_pb2.SendRequest]:
        for number in range(100_000):
            room.put(number, timeout=PATIENCE_S)
            values = [b"%d.%d" % (number, each) for each in range(BATCH)]
            records = [NewRecord(value=value) for value in values]
            yield produce_pb2.SendRequest(topic="t", number=number, records=records)

    def answered() -> None:
        for answer in door.send_stream(requests(), timeout=PATIENCE_S):
            assert not answer.refused
            taken.extend(b"%d.%d" % (answer.number, each) for each in range(BATCH))
            room.get_nowait()
            if answer.number + 1 == acknowledged:
                killer.start()

    with pytest.raises(grpc.RpcError) as ended:
        answered()
    assert ended.value.code() is grpc.StatusCode.UNAVAILABLE
    killer.join()
    return taken
