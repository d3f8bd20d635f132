"""Figures of the cluster: partitions that lack replicas, elections, replicas that lag, this node's standing.

A node tells of the partitions that it leads, so a sum over all nodes counts each once; of those that nobody leads every
node tells. A node that is alone has the same figures, most of them zero.
"""

from collections.abc import Iterator

from attrs import define

from coordinators.cluster.controlling import ControllerRole
from coordinators.cluster.elections import ElectionKind
from coordinators.cluster.partition_states import PartitionCounts, counted
from coordinators.replication.followers import Followers
from coordinators.replication.following import Following
from coordinators.replication.in_sync import InSyncReplicas
from coordinators.replication.lags import NodeLag, ReplicaLags
from engine.catalogue.catalogue import Catalogue, MeasuredCatalogue
from engine.metrics import Family

MOST_NODES = 100
"""So many follower nodes have figures of their own."""

_COUNTED = {
    "under_replicated": "Partitions led by this node with replicas that are not in sync.",
    "under_min_isr": "Partitions led by this node with fewer replicas in sync than min.insync.replicas asks for.",
    "at_min_isr": "Partitions led by this node with just as many in sync as min.insync.replicas asks for, and not all.",
    "reassigning": "Partitions led by this node that are being moved to other nodes.",
    "not_preferred": "Partitions led by this node though it is not the first of their replicas.",
}


@define(eq=False)
class ReplicationFigures:
    """What counts replication on a node that is one of several."""

    in_sync: InSyncReplicas
    followers: Followers
    following: Following


@define(eq=False)
class ClusterMetrics:
    """A collector of one node. `replication` is None where it is alone."""

    role: ControllerRole
    lags: ReplicaLags
    replication: ReplicationFigures | None = None

    def collect(self) -> Iterator[Family | None]:
        """Everything about the cluster."""
        yield from self._partitions()
        yield from self._elections()
        yield from self._lags()
        yield from self._replication()
        yield from self._standing()
        yield from _etcd(self.role.replicas.catalogue)

    def _partitions(self) -> Iterator[Family | None]:
        led = PartitionCounts()
        topics = list(self.role.replicas.topics.view)
        serving = self.role.replicas.nodes.serving
        for found in counted(topics, serving, self.role.membership.node_id):
            yield None
            led = found or led
        leaderless = sum(row.leader not in serving for topic in topics for row in topic.partitions)
        meaning = "Partitions of the whole cluster that nobody leads, as this node knows; they are not served."
        yield Family.gauge("tidegate_partitions_leaderless", meaning, [({}, leaderless)])
        meaning = "Partitions that this node leads."
        yield Family.gauge("tidegate_partitions_led", meaning, [({}, led.partitions)])
        for name, meaning in _COUNTED.items():
            yield Family.gauge(f"tidegate_partitions_{name}", meaning, [({}, getattr(led, name))])

    def _elections(self) -> Iterator[Family]:
        elections = self.role.elections
        meaning = (
            "Leaders that this node has elected, by kind: clean, stopping, elr, unclean (may lose records), preferred."
        )
        values = [({"kind": kind.value}, elections.elections[kind]) for kind in ElectionKind]
        yield Family.counter("tidegate_leader_elections_total", meaning, values)
        meaning = "Partitions that this node found to have no leader any more."
        yield Family.counter("tidegate_leaders_lost_total", meaning, [({}, elections.leaders_lost)])
        meaning = "How long other leaders took to be elected once this node knew that one had gone."
        yield Family.histogram("tidegate_failover_duration_seconds", meaning, [({}, self.role.failover_durations)])

    def _lags(self) -> Iterator[Family | None]:
        nodes: list[NodeLag] = []
        for found in self.lags.by_node():
            yield None
            if found is not None:
                nodes = sorted(found.values(), key=lambda each: each.node_id)[:MOST_NODES]
        for name, meaning in (
            ("records", "Records that a follower lacks of all partitions that this node leads."),
            ("size_bytes", "Bytes that a follower lacks of all partitions that this node leads, reckoned."),
            ("seconds", "How long a follower has been behind in the partition led here where that is longest."),
        ):
            values = [({"follower": str(each.node_id)}, getattr(each, name)) for each in nodes]
            unit = "bytes" if name == "size_bytes" else name
            yield Family.gauge(f"tidegate_replica_lag_{unit}", meaning, values)

    def _replication(self) -> Iterator[Family]:
        found = self.replication
        for name, meaning, value in (
            (
                "isr_shrinks",
                "How often this node took replicas out of the in-sync ones.",
                found and found.in_sync.shrinks,
            ),
            ("isr_expansions", "How often this node took replicas into them.", found and found.in_sync.expansions),
            ("replication_sent_bytes", "Bytes sent to followers.", found and found.followers.given_bytes),
            ("replication_received_bytes", "Bytes taken from leaders.", found and found.following.appended_bytes),
            (
                "replica_truncations",
                "How often a log was cut because its leader did not have its end.",
                found and found.following.truncations,
            ),
        ):
            yield Family.counter(f"tidegate_{name}_total", meaning, [({}, int(value or 0))])

    def _standing(self) -> Iterator[Family]:
        membership, nodes = self.role.membership, self.role.nodes.by_id.values()
        states = {
            "serving": sum(node.is_eligible for node in nodes),
            "fenced": sum(node.fenced for node in nodes),
            "stopping": sum(node.stopping and not node.fenced for node in nodes),
        }
        meaning = "Nodes that are registered, by state; fenced ones have not entered yet."
        yield Family.gauge("tidegate_nodes", meaning, [({"state": state}, count) for state, count in states.items()])
        meaning = "1 on the node that is the controller; a node that is alone is its own."
        is_controller = membership.is_alone or self.role.is_controller
        yield Family.gauge("tidegate_controller", meaning, [({}, int(is_controller))])
        meaning = "How often this node has registered since it started; more than once: it had lost its session."
        yield Family.counter("tidegate_registrations_total", meaning, [({}, membership.lives)])
        session = membership.replicas.catalogue.session
        meaning = "How long ago etcd last confirmed this node's session; 0 on a node that is alone."
        yield Family.gauge("tidegate_session_silent_seconds", meaning, [({}, session.silent_s())])
        meaning = "After so long a silence the session ends; 0 on a node that is alone."
        duration_s = 0.0 if membership.is_alone else session.duration_s
        yield Family.gauge("tidegate_session_duration_seconds", meaning, [({}, duration_s)])


def _etcd(catalogue: Catalogue) -> Iterator[Family]:
    durations = catalogue.durations if isinstance(catalogue, MeasuredCatalogue) else {}
    meaning = "How long etcd took to answer, by operation; calls that nobody answered count too."
    # A copy: a thread may make a first call of its kind meanwhile.
    values = [({"operation": operation}, found) for operation, found in sorted(dict(durations).items())]
    yield Family.histogram("tidegate_etcd_call_duration_seconds", meaning, values)
