"""A sync is shared by what was written before it began; a failure reaches the partition."""

from engine.sync import SyncRounds
from engine.workers import InlineWorkers


class Written:
    """Counts what is written and what is durable."""

    def __init__(self) -> None:
        self.written = 0
        self.durable = 0
        self.fail: OSError | None = None
        self.failures: list[BaseException] = []

    def capture_sync(self) -> "Written.Ticket":
        return Written.Ticket(self, self.written)

    def synced(self, ticket: "Written.Ticket") -> None:
        self.durable = ticket.upto

    def sync_failed(self, error: BaseException) -> None:
        self.failures.append(error)

    class Ticket:
        def __init__(self, owner: "Written", upto: int) -> None:
            self.owner, self.upto = owner, upto

        def run(self) -> None:
            if self.owner.fail is not None:
                raise self.owner.fail


def test_writes_during_a_sync_share_the_next_one() -> None:
    workers = InlineWorkers(hold=True)
    marks = []
    rounds = SyncRounds(workers, lambda: marks.append(True))
    item = Written()
    item.written = 1
    rounds.mark(item)
    rounds.start_round()
    for item.written in (2, 3, 4):
        rounds.mark(item)
    workers.run_held(1)
    assert item.durable == 1
    workers.run_held(1)
    assert item.durable == 4
    assert rounds.statistics()["syncs"] == 2
    assert rounds.idle()
    assert len(marks) == 1, "a round that follows by itself needs no wake-up"


def test_partitions_sync_side_by_side() -> None:
    workers = InlineWorkers(hold=True)
    rounds = SyncRounds(workers, lambda: None)
    items = [Written() for _ in range(5)]
    for item in items:
        item.written = 1
        rounds.mark(item)
    rounds.start_round()
    assert len(workers.held) == 5


def test_a_failed_sync_is_not_retried_as_success() -> None:
    rounds = SyncRounds(InlineWorkers(), lambda: None)
    item = Written()
    item.written, item.fail = 1, OSError("disk")
    rounds.mark(item)
    rounds.start_round()
    assert item.durable == 0
    assert item.failures == [item.fail]
    assert rounds.idle()
