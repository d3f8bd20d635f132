"""What Produce requests are handled with."""

from attrs import frozen

from coordinators.records.directory import PartitionDirectory
from coordinators.release.releases import Releases
from coordinators.tracing.tracing import Tracing
from coordinators.transaction.transactions import Transactions
from engine.clock import Clock
from engine.workers import Workers
from wire.kafka.limits import Limits
from wire.kafka.opening_room import OpeningRoom
from wire.kafka.refused_headers import RefusedHeaders


@frozen
class ProduceServices:
    """See the module."""

    directory: PartitionDirectory
    releases: Releases
    transactions: Transactions
    tracing: Tracing
    refused_headers: RefusedHeaders
    opening_room: OpeningRoom
    limits: Limits
    clock: Clock
    workers: Workers
