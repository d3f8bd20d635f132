"""The client for asyncio: the same behaviour as the one with threads."""

import asyncio
from typing import Any

import pytest

from tests.tidegate.client.fakes import GONE, REFUSED, FakePool, played
from tests.tidegate.client.test_blocking import DESCRIBED, portion
from tidegate.client.messages import admin_pb2
from tidegate.client.on_asyncio import AsyncClient
from tidegate.client.retrying import ClientError


class _Stream:
    def __init__(self, entries: list[Any]) -> None:
        self._entries = played(entries)

    def __aiter__(self) -> "_Stream":
        return self

    async def __anext__(self) -> Any:
        for entry in self._entries:
            return entry
        raise StopAsyncIteration

    def cancel(self) -> None:
        """Nobody waits."""


async def _outcome(entry: Any) -> Any:
    if isinstance(entry, Exception):
        raise entry
    return entry


def made(pool: FakePool, _: str, script: list[Any]) -> Any:
    def call(request: Any, **options: Any) -> Any:
        pool.asked.append(request)
        entry = script.pop(0)
        return _Stream(entry) if isinstance(entry, list) else _outcome(entry)

    return call


def run(script: list[Any], ask: Any) -> FakePool:
    pool = FakePool(made, *script)

    async def main() -> None:
        client = AsyncClient("unused", deadline_s=10.0)
        await client.close()
        client._pool = pool  # type: ignore[assignment]
        await ask(client)

    asyncio.run(main())
    return pool


def test_what_passes_is_tried_again_and_what_does_not_is_told() -> None:
    async def ask(client: AsyncClient) -> None:
        assert await client.topics() == {"t": 2}
        with pytest.raises(ClientError, match="TopicAuthorizationFailed"):
            await client.topics()

    answer = admin_pb2.ListTopicsResponse(topics=[{"name": "t", "partitions": 2}])
    assert len(run([GONE, answer, REFUSED], ask).asked) == 3


def test_a_stream_that_breaks_is_read_on_from_where_it_was() -> None:
    async def ask(client: AsyncClient) -> None:
        assert [record.offset async for record in client.read("t")] == [3, 4, 5]

    pool = run([DESCRIBED, [portion(3, 4), GONE], [portion(5)]], ask)
    assert [request.partitions[0].start.offset for request in pool.asked[1:]] == [3, 5]
