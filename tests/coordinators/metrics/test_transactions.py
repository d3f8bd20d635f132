"""Figures of transactions."""

from pathlib import Path

from trio.testing import trio_test

from coordinators.metrics.transactions import TransactionMetrics
from engine.clock import ManualClock
from tests.wire.http.scraping import collected
from tests.wire.kafka.door import until
from tests.wire.kafka.transacting import transacting


@trio_test
async def test_an_open_transaction_is_told_with_its_age(tmp_path: Path) -> None:
    async with transacting(tmp_path) as (door, producer):
        node = door.broker.node
        found = collected(TransactionMetrics(node.transactions, node.clock).collect())
        assert (found("tidegate_transactions", state="Empty"), found("tidegate_transactions", state="Ongoing")) == (
            1,
            0,
        )
        assert found("tidegate_transaction_oldest_open_seconds") == 0
        await producer.add()
        later = ManualClock(node.clock.now_ms() + 60_000)
        found = collected(TransactionMetrics(node.transactions, later).collect())
        assert found("tidegate_transactions", state="Ongoing") == 1
        assert 60 <= found("tidegate_transaction_oldest_open_seconds") < 90


@trio_test
async def test_one_that_has_ended_has_no_age(tmp_path: Path) -> None:
    async with transacting(tmp_path) as (door, producer):
        node = door.broker.node
        metrics = TransactionMetrics(node.transactions, node.clock)
        await producer.add()
        await producer.end()
        await until(lambda: collected(metrics.collect())("tidegate_transactions", state="CompleteCommit") == 1)
        assert collected(metrics.collect())("tidegate_transaction_oldest_open_seconds") == 0
