"""DescribeTransactions: state, producer and partitions."""

from pathlib import Path

from trio.testing import trio_test

from tests.wire.kafka.transacting import transacting
from wire.kafka.messages.describe_transactions import DescribeTransactionsRequest

TRANSACTIONAL_ID_NOT_FOUND = 105


@trio_test
async def test_what_is_known_of_each(tmp_path: Path) -> None:
    async with transacting(tmp_path) as (_, producer):
        await producer.add({"t": [1, 0]})
        answer = await producer.client.ask(DescribeTransactionsRequest(["a", "unknown"]))
        known, unknown = answer.transaction_states
        assert (known.error_code, known.transaction_state, known.transaction_timeout_ms) == (0, "Ongoing", 60_000)
        assert (known.producer_id, known.producer_epoch) == (producer.producer_id, producer.epoch)
        assert [(topic.topic, topic.partitions) for topic in known.topics] == [("t", [0, 1])]
        assert (unknown.transactional_id, unknown.error_code) == ("unknown", TRANSACTIONAL_ID_NOT_FOUND)
