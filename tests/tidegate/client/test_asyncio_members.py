"""Members for asyncio: a stream that breaks is joined again."""

import asyncio
from typing import Any

import grpc.aio
import pytest

from tests.tidegate.client.fakes import ABORTED, REFUSED, FakePool, played
from tests.tidegate.client.test_blocking_members import JOINED, RECORDS
from tidegate.client.asyncio_members import AsyncGroupReader
from tidegate.client.retrying import ClientError


class _Stream:
    def __init__(self, pool: FakePool, entries: list[Any]) -> None:
        self._pool, self._entries = pool, played(entries)

    async def write(self, request: Any) -> None:
        self._pool.asked.append(request)

    async def read(self) -> Any:
        return next(self._entries, grpc.aio.EOF)

    async def done_writing(self) -> None:
        """Nothing follows."""


def reader(*streams: list[Any]) -> tuple[AsyncGroupReader, FakePool]:
    def made(pool: FakePool, _: str, script: list[Any]) -> Any:
        return lambda **_: _Stream(pool, script.pop(0))

    pool = FakePool(made, *streams)
    return AsyncGroupReader(pool, "g", ("t",), "latest", -1, 30_000, 10.0), pool  # type: ignore[arg-type]


def test_a_member_joins_again_when_its_group_has_forgotten_it() -> None:
    async def main() -> None:
        found, pool = reader([JOINED, ABORTED], [JOINED, RECORDS])
        async with found as member:
            (record,) = await member.poll()
            assert record.offset == 7
        assert [each.WhichOneof("request") for each in pool.asked] == ["join", "poll", "join", "poll"]

    asyncio.run(main())


def test_refusals_and_the_end_are_told() -> None:
    async def main() -> None:
        with pytest.raises(ClientError, match="TopicAuthorizationFailed"):
            await reader([REFUSED])[0].poll()
        with pytest.raises(ClientError, match="ended the stream"):
            await reader([JOINED])[0].poll()

    asyncio.run(main())
