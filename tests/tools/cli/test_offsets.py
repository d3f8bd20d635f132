"""Offsets of partitions."""

import pytest

from tests.tools.cli.conftest import Tidegate
from tidegate.testing import RunningBroker
from tools.cli.errors import Refused
from tools.cli.kafka import Kafka, connected, run
from tools.cli.offsets import EARLIEST, LATEST, at_time, bounds, leaders, list_offsets
from tools.cli.profiles import Profile


def test_where_partitions_begin_and_end(tidegate: Tidegate, topic: str, broker: RunningBroker) -> None:
    tidegate("produce", topic, "a", "b")

    async def work(kafka: Kafka) -> None:
        assert await leaders(kafka, [topic, topic]) == {(topic, 0): 1}
        assert await bounds(kafka, [topic]) == {(topic, 0): (0, 2)}
        assert await list_offsets(kafka, {(topic, 0): EARLIEST}) == {(topic, 0): 0}
        assert await list_offsets(kafka, {(topic, 0): LATEST}, committed=True) == {(topic, 0): 2}
        assert await list_offsets(kafka, {}) == {}
        assert await at_time(kafka, [(topic, 0)], 0) == {(topic, 0): 0}
        assert await at_time(kafka, [(topic, 0)], 2**50) == {(topic, 0): 2}, "nothing is as late: the end"
        with pytest.raises(Refused, match=f"{topic}-7"):
            await list_offsets(kafka, {(topic, 7): LATEST})

    async def connect() -> None:
        async with connected(Profile(bootstrap=broker.bootstrap, timeout_s=30)) as kafka:
            await work(kafka)

    run(connect())
