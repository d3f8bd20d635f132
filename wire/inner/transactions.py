"""Transactional producers for callers of the doors that are not Kafka's: transactions as Kafka's clients read them.

    producer = await producers.init(caller, "http", ProducerWanted("billing-1"))
    number = await producer.begin()
    await producer.publish("invoices", [NewRecord(value=b"...")], sequence=0)
    await producer.end(committed=True, number=number)
    producer = producers.find(caller, producer_id)          # in a later request; `Elsewhere` on another node

Each lives on this node until it is closed or its caller is silent for its session time (`producer.py`).
"""

import logging
from collections.abc import Sequence
from typing import Any

import trio
from attrs import define, field

from coordinators.access.callers import Caller
from coordinators.background import Background
from coordinators.cluster.nodes import Nodes
from coordinators.replication.ports import LinkBroken
from engine.errors import BrokerError, InvalidRequest
from wire.inner.asking import GROUP, TRANSACTION, InnerClient
from wire.inner.home_asking import coordinator_of
from wire.inner.homes import Home
from wire.inner.producer import ProducerWanted, TransactionalIdentity, TransactionalProducer, TransactionPhase
from wire.inner.sending import DoorProducer, Sending
from wire.kafka.calls import Guest
from wire.kafka.messages.list_transactions import ListTransactionsRequest, TransactionState

logger = logging.getLogger("tidegate.doors")


@define(eq=False)
class Producers:
    """See the module."""

    inner: InnerClient
    sending: Sending
    background: Background
    nodes: Nodes
    home: Home[TransactionalProducer]
    begun: int = field(default=0, init=False)
    _ended: dict[str, int] = field(factory=lambda: {"committed": 0, "aborted": 0}, init=False)
    """What those have done that are gone."""

    async def init(
        self, caller: Caller, door: str, wanted: ProducerWanted, client_id: str | None = None
    ) -> TransactionalProducer:
        """Become the producer of a transactional id; whoever was it before is fenced."""
        if not wanted.transactional_id:
            raise InvalidRequest("a transactional producer needs an id")
        with self.home.moving_in(caller) as producer_id:
            guest = self.inner.staying(caller, door, client_id or door)
            producer = self._made(producer_id, guest, wanted)
            try:
                await producer.init()
            except BaseException:
                self.inner.leave(guest)
                raise
            self.home.add(producer_id, producer, guest)
        self.begun += 1
        self.background.start_soon(self._live, producer, guest)
        return producer

    def find(self, caller: Caller, producer_id: str) -> TransactionalProducer:
        """A caller's producer; `Elsewhere` or `NotAtHome`."""
        return self.home.find(producer_id, caller)

    def _made(self, producer_id: str, guest: Guest, wanted: ProducerWanted) -> TransactionalProducer:
        async def ask_group(group: str, message: Any) -> Any:
            return await self.inner.ask_coordinator(guest, GROUP, group, message)

        async def send(
            wanted: ProducerWanted, identity: TransactionalIdentity, topic: str, records: Sequence[Any], **options: Any
        ) -> Sequence[Any]:
            writer = DoorProducer(identity.producer_id, identity.epoch, wanted.transactional_id, identity.sequences)
            return await self.sending.send(guest, topic, records, producer=writer, **options)

        ask = coordinator_of(self.inner, guest, TRANSACTION, wanted.transactional_id)
        return TransactionalProducer(producer_id, guest.caller, wanted, ask, ask_group, send, trio.sleep)

    async def _live(self, producer: TransactionalProducer, guest: Guest) -> None:
        try:
            await producer.run()
        except Exception:
            logger.exception("the producer %s ends by a bug", producer.wanted.transactional_id)
        finally:
            self._ended["committed"] += producer.committed
            self._ended["aborted"] += producer.aborted
            self.home.remove(producer.id)
            self.inner.leave(guest)

    # -- what there is

    async def transactions(self, caller: Caller, door: str) -> list[TransactionState]:
        """The transactional ids that the caller may know of, with their states, whichever node coordinates them."""
        found: list[TransactionState] = []
        with self.inner.guest(caller, door) as guest:
            for node_id in sorted(self.nodes.by_id):
                try:
                    answer = await self.inner.ask(guest, ListTransactionsRequest(), node_id=node_id)
                except (LinkBroken, BrokerError):
                    continue  # what it coordinates another does in a moment
                found += answer.transaction_states
        return sorted(found, key=lambda each: each.transactional_id)

    def statistics(self) -> dict[str, int]:
        """Producers, now and so far, and how their transactions ended."""
        open_now = sum(1 for each in self.home if each.state in (TransactionPhase.OPEN, TransactionPhase.BROKEN))
        return {
            "producers": len(self.home),
            "producers_begun": self.begun,
            "open": open_now,
            "committed": self._ended["committed"] + sum(each.committed for each in self.home),
            "aborted": self._ended["aborted"] + sum(each.aborted for each in self.home),
        }
