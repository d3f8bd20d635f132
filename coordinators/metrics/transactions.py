"""Figures of transactions: how many in which state, and how old the oldest open one is."""

from collections import Counter
from collections.abc import Iterator

from attrs import define

from coordinators.transaction.transaction import PREPARED, TransactionState
from coordinators.transaction.transactions import Transactions
from engine.clock import Clock
from engine.metrics import Family


@define(eq=False)
class TransactionMetrics:
    """A collector over all transactional ids."""

    transactions: Transactions
    clock: Clock

    def collect(self) -> Iterator[Family | None]:
        """Everything about transactions whose shards are loaded."""
        states: Counter[str] = Counter(
            {state.label: 0 for state in TransactionState if state is not TransactionState.DEAD}
        )
        oldest_ms = now_ms = self.clock.now_ms()
        for machine in list(self.transactions.runtime.machines()):
            for transaction in machine.transactions.values():
                states[transaction.state.label] += 1
                if transaction.state is TransactionState.ONGOING or transaction.state in PREPARED:
                    oldest_ms = min(oldest_ms, transaction.started_ms)
            yield None
        yield Family.gauge(
            "tidegate_transactions",
            "Transactional ids by state.",
            [({"state": state}, count) for state, count in sorted(states.items())],
        )
        yield Family.gauge(
            "tidegate_transaction_oldest_open_seconds",
            "How long ago the oldest transaction began that has not ended; 0 if there is none.",
            [({}, (now_ms - oldest_ms) / 1000)],
        )
