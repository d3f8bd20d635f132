"""The producer for asyncio: the same behaviour as the one with threads."""

import asyncio
from typing import Any

import pytest

from tests.tidegate.client.fakes import GONE, REFUSED, FakePool
from tests.tidegate.client.test_blocking_producer import taken
from tidegate.client.asyncio_producer import AsyncRecordProducer
from tidegate.client.batching import BatchBounds
from tidegate.client.retrying import ClientError


def fake(*script: Any) -> FakePool:
    def made(pool: FakePool, _: str, left: list[Any]) -> Any:
        async def call(request: Any, **_: Any) -> Any:
            pool.asked.append(request)
            entry = left.pop(0) if left else None
            if isinstance(entry, Exception):
                raise entry
            return entry or taken(request)

        return call

    return FakePool(made, *script)


def test_a_batch_is_tried_again_before_the_next_of_its_topic_goes() -> None:
    pool = fake(GONE)

    async def main() -> None:
        async with AsyncRecordProducer(pool, BatchBounds(2, linger_s=0.001), "all", "hash", 10.0) as made:  # type: ignore[arg-type]
            futures = [await made.send("t", b"%d" % number) for number in range(3)]
            await made.flush()
            assert [(await future).offset for future in futures] == [0, 1, 0]

    asyncio.run(main())
    values = [[record.value for record in request.records] for request in pool.asked]
    assert values == [[b"0", b"1"]] * 2 + [[b"2"]]


def test_what_fails_for_good_is_told_and_nothing_goes_without_the_block() -> None:
    async def main() -> None:
        made = AsyncRecordProducer(fake(REFUSED), BatchBounds(linger_s=0.0), "all", "hash", 10.0)  # type: ignore[arg-type]
        with pytest.raises(RuntimeError, match="async with"):
            await made.send("t", b"x")
        async with made:
            with pytest.raises(ClientError, match="TopicAuthorizationFailed"):
                await (await made.send("t", b"x"))

    asyncio.run(main())
