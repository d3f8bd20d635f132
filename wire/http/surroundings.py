"""What the operations door needs of the broker around it, and the bounds it keeps."""

from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define, field, frozen

from coordinators.controller import Controller
from coordinators.group.groups import Groups
from coordinators.release.releases import Releases
from coordinators.topics import Topics
from coordinators.tracing.tracing import Tracing
from coordinators.transaction.transactions import Transactions
from coordinators.waiting import in_worker
from engine.clock import Clock
from engine.metrics import Metrics
from engine.partition.partitions import Partitions
from engine.scrub.scrubber import Scrubber
from engine.workers import Workers

if TYPE_CHECKING:
    from coordinators.release.inspection import Inspection

T = TypeVar("T")


class Phase(Enum):
    """Where in its life the broker is."""

    STARTING = "starting"
    READY = "ready"
    STOPPING = "stopping"


@frozen
class HttpLimits:
    """Bounds of the door, from the broker's configuration."""

    max_connections: int = 64
    max_request_bytes: int = 1024 * 1024
    max_header_bytes: int = 16 * 1024
    request_timeout_s: float = 10.0
    max_idle_s: float = 60.0


@frozen
class Access:
    """Who may call. `token` is None where none is asked for; `hosts` are the names a caller may call us by, or None
    for any."""

    token: str | None = field(default=None, repr=False)
    hosts: frozenset[str] | None = None


@define(eq=False)
class Surroundings:
    """This broker as its operations door sees it."""

    version: Callable[[], str]
    node_id: int
    cluster_id: str
    rack: str | None
    addresses: tuple[tuple[str, int], ...]
    topics: Topics
    partitions: Partitions
    controller: Controller
    groups: Groups
    transactions: Transactions
    tracing: Tracing
    releases: Releases
    clock: Clock
    workers: Workers
    metrics: Metrics
    scrubber: Scrubber
    start_scrub: Callable[[], bool] = lambda: False
    connection_count: Callable[[], int] = lambda: 0
    needs_token: bool = False
    phase: Phase = Phase.STARTING
    started_ms: int = 0
    started_s: float = 0.0
    """By the steady clock: the wall clock may be set while the broker runs."""

    @property
    def inspection(self) -> "Inspection":
        """What can be seen and done with staged records."""
        # Imported here: the routes that ask have loaded it, the start of the broker does without.
        from coordinators.release.inspection import Inspection

        return Inspection(self.releases, self.workers)

    async def in_thread(self, function: Callable[..., T], *arguments: Any) -> T:
        """Run what blocks, or takes long, away from the loop."""
        return await in_worker(self.workers, function, *arguments)
