"""What a node loads and does where there are no others, and what it looks at where there are."""

import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest
import trio
from trio.testing import MockClock, trio_test

from engine.catalogue.records import NodeRecord
from tests.tidegate.processes import ROOT
from tidegate.clustering import Clustering, _reach
from wire.kafka.listeners import NodeWays

SHOW = """
import sys
import tidegate.serve
print([name for name in sys.modules if name.startswith(("coordinators.replication.f", "tidegate.replication"))])
"""


def test_a_node_by_itself_does_not_wait_for_replication_to_be_loaded() -> None:
    shown = subprocess.run([sys.executable, "-c", SHOW], cwd=ROOT, capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


@pytest.fixture
def jumping() -> MockClock:
    return MockClock(autojump_threshold=0)


class Network:
    """Ports that are reached, refuse, or say nothing."""

    def __init__(self, **hosts: str) -> None:
        self.hosts, self.dialled = hosts, list[str]()

    async def dial(self, host: str, _port: int) -> trio.abc.Stream:
        self.dialled.append(host)
        await trio.lowlevel.checkpoint()
        match self.hosts[host]:
            case "refuses":
                raise ConnectionRefusedError(host)
            case "unknown":
                raise OSError(f"no way to {host}")
            case "silent":
                await trio.sleep_forever()
        return trio.testing.memory_stream_pair()[0]


def reaching(**hosts: str) -> tuple[Network, Any]:
    network = Network(**hosts)
    node = NodeRecord(2, tuple(f"PLAINTEXT://{host}:9092" for host in hosts))
    return network, lambda: _reach(network, NodeWays())(node)  # type: ignore[arg-type]


@trio_test
async def test_a_node_is_reached_by_whichever_listener_it_can_be(jumping: MockClock) -> None:
    for first in ("refuses", "unknown", "silent"):
        network, reach = reaching(a=first, b="open")
        await reach()
        assert network.dialled == ["a", "b"]


@trio_test
async def test_nobody_is_there_where_one_listener_refuses_and_none_is_reached(jumping: MockClock) -> None:
    for hosts in ({"a": "unknown", "b": "refuses"}, {"a": "refuses", "b": "silent"}):
        with pytest.raises(ConnectionRefusedError):
            await reaching(**hosts)[1]()
    with pytest.raises(OSError, match="does not answer") as silence:
        await reaching(a="silent")[1]()
    assert not isinstance(silence.value, ConnectionRefusedError)


def raised(*, is_set: bool) -> dict[str, int]:
    """What the controller of a cluster is asked to raise."""
    settings = SimpleNamespace(is_set=lambda _: is_set, integer=lambda _: 3)
    controller = SimpleNamespace(topics=SimpleNamespace(settings=settings))
    kept = SimpleNamespace(controller=controller, default_factors=lambda: {"__consumer_offsets": 3})
    chores: list[Any] = []
    clustering = SimpleNamespace(
        is_alone=False, membership=SimpleNamespace(replicas=None), role=SimpleNamespace(chores=chores)
    )
    Clustering.look_after(clustering, kept)  # type: ignore[arg-type]
    wanted: dict[str, int] = chores[0].__self__.wanted()
    return wanted


def test_the_topic_of_trace_events_gets_replicas_when_nodes_come_unless_somebody_has_said_how_many() -> None:
    assert raised(is_set=False) == {"__consumer_offsets": 3, "__trace_events": 3}
    assert raised(is_set=True) == {"__consumer_offsets": 3}
