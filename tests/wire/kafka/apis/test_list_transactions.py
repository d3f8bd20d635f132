"""ListTransactions: filtered by state, producer, age and name."""

from pathlib import Path
from typing import Any

from trio.testing import trio_test

from tests.wire.kafka.transacting import Producer, transacting
from wire.kafka.messages.list_transactions import ListTransactionsRequest

INVALID_REGULAR_EXPRESSION = 128


@trio_test
async def test_filters(tmp_path: Path) -> None:
    async with transacting(tmp_path) as (_, producer):
        await Producer(producer.client, "b").init()
        await producer.add()

        async def listed(version: int | None = None, **filters: Any) -> list[str]:
            answer = await producer.client.ask(ListTransactionsRequest(**filters), version)
            assert answer.error_code == 0
            return sorted(each.transactional_id for each in answer.transaction_states)

        assert await listed(0) == ["a", "b"]
        assert await listed(0, state_filters=["Ongoing"]) == ["a"]
        assert await listed(0, producer_id_filters=[producer.producer_id]) == ["a"]
        assert await listed(1, state_filters=["Ongoing"], duration_filter=100_000) == []
        assert await listed(2, transactional_id_pattern="b.*") == ["b"]
        assert await listed(2, transactional_id_pattern="") == ["a", "b"]


@trio_test
async def test_unknown_states_are_named(tmp_path: Path) -> None:
    async with transacting(tmp_path) as (_, producer):
        answer = await producer.client.ask(ListTransactionsRequest(state_filters=["Empty", "Nonsense"]))
        assert answer.unknown_state_filters == ["Nonsense"]


@trio_test
async def test_a_pattern_that_is_none_is_refused_and_a_costly_one_is_not_slow(tmp_path: Path) -> None:
    async with transacting(tmp_path) as (_, producer):
        answer = await producer.client.ask(ListTransactionsRequest(transactional_id_pattern="("))
        assert answer.error_code == INVALID_REGULAR_EXPRESSION
        await Producer(producer.client, "a" * 5000).init()
        answer = await producer.client.ask(ListTransactionsRequest(transactional_id_pattern="(a+)+b"))
        assert answer.transaction_states == []
