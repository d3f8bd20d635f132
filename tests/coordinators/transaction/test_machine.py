"""The operations of a shard; what needs no more than a scenario is in tests/scenarios/transaction*.txt."""

from coordinators.transaction.machine import TransactionSettings
from coordinators.transaction.transaction import MAX_EPOCH, V2, ProducerIdentity, TransactionState
from engine.errors import ConcurrentTransactions, TransactionalIdNotFound
from tests.coordinators.transaction.world import World

DAY_MS = 86_400_000
PLACE = ("t", 0)


def test_two_instances_that_come_during_one_sync_get_different_epochs() -> None:
    world = World(hold=False)
    world.hold = True
    answers = [world.transactions.init_producer_id("a", 1000, None) for _ in range(3)]
    heard: list[ProducerIdentity] = []
    for answer in answers:
        answer.when_settled(heard.append, heard.append)
    assert heard == []
    world.hold = False
    world.settle()
    assert [identity.epoch for identity in heard] == [0, 1, 2]
    assert len({identity.producer_id for identity in heard}) == 1


def test_a_transactional_id_that_nobody_uses_is_forgotten() -> None:
    world = World()
    world.init("idle")
    world.create("t")
    busy = world.init("busy", 900_000)
    world.add("busy", busy, PLACE)
    world.advance(7 * DAY_MS + 3_600_000)
    world.advance(3_600_001)
    assert isinstance(world.heard(world.transactions.describe("idle")), TransactionalIdNotFound)
    assert [name for state in world.hard_state() for name in state] == ["busy"]


def test_identities_go_on_when_the_epochs_are_used_up() -> None:
    world = World()
    world.create("t")
    first = world.init("a")
    for machine in world.transactions.runtime.machines():
        for name, transaction in machine.transactions.items():
            machine.transactions[name] = transaction.to(TransactionState.EMPTY, 1, epoch=MAX_EPOCH - 1)
    last = ProducerIdentity(first.producer_id, MAX_EPOCH - 1)
    world.add("a", last, PLACE, version=V2)
    world.write("a", last, PLACE, "one", 0)
    following = world.end("a", last, commit=True, version=V2)
    assert following == ProducerIdentity(first.producer_id + 1, 0)
    assert world.end("a", last, commit=True, version=V2) == following
    world.add("a", following, PLACE, version=V2)
    world.write("a", following, PLACE, "two", 0)
    assert isinstance(world.end("a", following, commit=True, version=V2), ProducerIdentity)
    assert world.read(PLACE, committed=True) == ["one", "two"]


def test_while_a_transaction_is_completed_its_producer_has_to_wait() -> None:
    world = World()
    world.create("t")
    producer = world.init("a")
    world.add("a", producer, PLACE)
    world.write("a", producer, PLACE, "one", 0)
    world.hold = True
    ending = world.transactions.end("a", producer, commit=True)
    assert isinstance(world.add("a", producer, PLACE), ConcurrentTransactions)
    assert isinstance(world.init("a"), ConcurrentTransactions)
    world.hold = False
    assert world.heard(ending) == producer
    assert world.add("a", producer, PLACE) is None


def test_overdue_transactions_are_aborted_also_those_of_before_a_restart() -> None:
    world = World()
    world.create("t")
    for name, timeout_ms in (("a", 1000), ("b", 3000)):
        producer = world.init(name, timeout_ms)
        world.add(name, producer, PLACE)
        world.write(name, producer, PLACE, name, 0)
    world.crash()
    world.settle()
    world.advance(1001)
    states = {name: each.state for shard in world.hard_state() for name, each in shard.items()}
    assert states == {"a": TransactionState.COMPLETE_ABORT, "b": TransactionState.ONGOING}
    world.advance(2000)
    states = {name: each.state for shard in world.hard_state() for name, each in shard.items()}
    assert states == {"a": TransactionState.COMPLETE_ABORT, "b": TransactionState.COMPLETE_ABORT}
    assert world.read(PLACE, committed=True) == []


def test_the_defaults_are_kafkas() -> None:
    assert TransactionSettings.of(World().topics.settings) == TransactionSettings()


def test_the_brokers_keys_are_obeyed() -> None:
    world = World(settings={"transaction.max.timeout.ms": "5", "transaction.partition.verification.enable": "false"})
    assert TransactionSettings.of(world.topics.settings).max_timeout_ms == 5
    assert not TransactionSettings.of(world.topics.settings).verifies_partitions
