"""DescribeTransactions (65), version 0: state, producer and partitions of transactional ids (KIP-664)."""

from collections.abc import Callable
from functools import partial

from coordinators.access.access import AccessControl
from coordinators.transaction.transaction import Transaction
from coordinators.transaction.transactions import Transactions
from engine.errors import BrokerError
from wire.kafka.errors import error_code
from wire.kafka.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TopicData,
    TransactionState,
)
from wire.kafka.request import Context, Deferred, Later
from wire.kafka.rights import DESCRIBE_TOPIC, DESCRIBE_TRANSACTION, Each, Rights, Within, by_text
from wire.kafka.slices import for_each

KEY = 65
VERSIONS = (0, 0)
RIGHTS = Rights(
    Each(
        DESCRIBE_TRANSACTION,
        "transactional_ids",
        by_text,
        "transaction_states",
        lambda name, error: TransactionState(error_code=error_code(error), transactional_id=name),
        DescribeTransactionsResponse,
    ),
    Within(DESCRIBE_TOPIC),
)


def handle(
    request: DescribeTransactionsRequest, context: Context, transactions: Transactions, access: AccessControl
) -> Later[DescribeTransactionsResponse]:
    """Describe each; one named twice is described once. Topics that the caller may not see are left out."""
    seen = partial(access.permits, context.caller, DESCRIBE_TOPIC)

    def describe(name: str) -> Deferred[TransactionState]:
        def refuse(error: BrokerError) -> TransactionState:
            return TransactionState(error_code=error_code(error), transactional_id=name)

        return transactions.describe(name).map(partial(_described, seen), refuse)

    return for_each(
        list(dict.fromkeys(request.transactional_ids)),
        describe,
        lambda described: DescribeTransactionsResponse(transaction_states=described),
    )


def _described(is_seen: Callable[[str], bool], answer: Transaction) -> TransactionState:
    by_topic: dict[str, list[int]] = {}
    for topic, index in sorted(answer.partitions):
        if is_seen(topic):
            by_topic.setdefault(topic, []).append(index)
    return TransactionState(
        transactional_id=answer.transactional_id,
        transaction_state=answer.state.label,
        transaction_timeout_ms=answer.timeout_ms,
        transaction_start_time_ms=answer.started_ms,
        producer_id=answer.producer_id,
        producer_epoch=answer.epoch,
        topics=[TopicData(topic, indexes) for topic, indexes in by_topic.items()],
    )
