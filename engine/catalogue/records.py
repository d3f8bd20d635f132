"""What the catalogue holds, typed: topics, partitions, dynamic broker config, nodes, ids.

Keys:
  cluster/id                      the cluster's id, 22 characters
  nodes/<node>                    a node's registration; it goes with the node's session
  controller                      the node that reacts to what happens to others; it goes with its session
  cluster/secret                  by which nodes know each other
  topics/<name>                   an active topic: id, partition count, configs
  partitions/<id>/<partition>     replicas, ISR, leader and leader epoch of one partition
  deleting/<id>                   a topic whose files are being removed; its name is free already
  configs/brokers/<node|default>  dynamic broker config
  configs/groups/<group>          what a group is configured to
  quotas/<entity>                 how much a user, a client id or an address may
  tenants/<name>                  a tenant: who belongs to it, and its limits
  acls/<digest>                   a rule: who may do what to which resource
  producer-ids                    where the next block of producer ids begins
Values are JSON; a reader ignores members that it does not know.
"""

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from attrs import Factory, frozen

from engine.catalogue.catalogue import Catalogue, CatalogueConflict, Commit, Compare, Entry, Put
from engine.ids import RandomBytes, TopicId, id_text, new_id

CLUSTER_ID = "cluster/id"
CLUSTER_SECRET = "cluster/secret"
CONTROLLER = "controller"
NODES = "nodes/"
TOPICS = "topics/"
PARTITIONS = "partitions/"
DELETING = "deleting/"
BROKER_CONFIGS = "configs/brokers/"
BROKER_DEFAULT = "default"
GROUP_CONFIGS = "configs/groups/"
QUOTAS = "quotas/"
TENANTS = "tenants/"
ACLS = "acls/"
PRODUCER_IDS = "producer-ids"
SECRET_BYTES = 32


@frozen
class TopicRecord:
    """An active topic, or one that is being deleted."""

    name: str
    id: TopicId
    partition_count: int
    configs: Mapping[str, str] = Factory(dict)

    @property
    def key(self) -> str:
        return TOPICS + self.name

    @property
    def deleting_key(self) -> str:
        return DELETING + self.id.hex()

    def partition_key(self, partition: int) -> str:
        return f"{PARTITIONS}{self.id.hex()}/{partition}"

    def encode(self) -> bytes:
        return encode(
            {
                "name": self.name,
                "id": self.id.hex(),
                "partitions": self.partition_count,
                "configs": dict(self.configs),
            }
        )

    @classmethod
    def decode(cls, value: bytes) -> "TopicRecord":
        fields = json.loads(value)
        topic_id = bytes.fromhex(fields["id"])
        return cls(fields["name"], topic_id, fields["partitions"], fields["configs"])


@frozen
class PartitionRecord:
    """Who holds a partition. On one node all of it is that node; a leader of -1 is none.

    The leader epoch rises with every change of the leader, the partition epoch with every change."""

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int = 0
    partition_epoch: int = 0
    adding: tuple[int, ...] = ()
    """Those of the replicas that a reassignment brings."""
    removing: tuple[int, ...] = ()
    """Those that it takes away once the others are in sync."""
    elr: tuple[int, ...] = ()
    """Eligible leaders: left the ISR while it was below its minimum, so the high watermark has stood still since
    (KIP-966)."""

    @classmethod
    def on(cls, *nodes: int) -> "PartitionRecord":
        """A new partition: all are in sync, the first leads."""
        return cls(nodes, nodes, nodes[0])

    def encode(self) -> bytes:
        fields: dict[str, Any] = {
            "replicas": self.replicas,
            "isr": self.isr,
            "leader": self.leader,
            "leader_epoch": self.leader_epoch,
            "partition_epoch": self.partition_epoch,
        }
        # Left out where there are none: of thousands of rows hardly any has one.
        fields |= {name: nodes for name in ("adding", "removing", "elr") if (nodes := getattr(self, name))}
        return encode(fields)

    @classmethod
    def decode(cls, value: bytes) -> "PartitionRecord":
        fields = json.loads(value)

        def nodes(name: str) -> tuple[int, ...]:
            return tuple(fields.get(name, ()))

        return cls(
            nodes("replicas"),
            nodes("isr"),
            fields["leader"],
            fields["leader_epoch"],
            # Rows of before there were such epochs have none.
            fields.get("partition_epoch", 0),
            nodes("adding"),
            nodes("removing"),
            nodes("elr"),
        )


@frozen
class NodeRecord:
    """A node that serves; `listeners` are what clients of other nodes are told, in the order of the configuration."""

    node_id: int
    listeners: tuple[str, ...]
    rack: str | None = None
    incarnation: str = ""
    """Of one life of the node; empty where there is only one node."""
    epoch: int = 0
    """The revision of its registration in this life; 0 in its first row, which cannot know it."""
    fenced: bool = False
    """It has not caught up yet: it may neither lead nor join an ISR."""
    stopping: bool = False
    """It is about to stop: leaders move away from it."""
    version: str = ""
    """Of its software."""

    @property
    def key(self) -> str:
        return f"{NODES}{self.node_id}"

    @property
    def is_eligible(self) -> bool:
        """Whether it may lead partitions, join their ISR and be given new ones."""
        return not self.fenced and not self.stopping

    def encode(self) -> bytes:
        fields: dict[str, Any] = {"node_id": self.node_id, "listeners": self.listeners, "rack": self.rack}
        names = ("incarnation", "epoch", "fenced", "stopping", "version")
        fields |= {name: value for name in names if (value := getattr(self, name))}
        return encode(fields)

    @classmethod
    def decode(cls, value: bytes) -> "NodeRecord":
        fields = json.loads(value)
        return cls(
            fields["node_id"],
            tuple(fields["listeners"]),
            fields.get("rack"),
            fields.get("incarnation", ""),
            fields.get("epoch", 0),
            fields.get("fenced", False),
            fields.get("stopping", False),
            fields.get("version", ""),
        )


@frozen
class ControllerRecord:
    """The node that reacts to what happens to others, in which of its lives."""

    node_id: int
    epoch: int

    def encode(self) -> bytes:
        return encode({"node_id": self.node_id, "epoch": self.epoch})

    @classmethod
    def decode(cls, value: bytes) -> "ControllerRecord":
        fields = json.loads(value)
        return cls(fields["node_id"], fields["epoch"])


@frozen
class AclRecord:
    """A rule: what somebody may, or may not, do to a resource, in Kafka's codes. A rule has no identity but what it
    says, so its key is made of that: one that is made twice is there once, and none can stand for another."""

    resource_type: int
    name: str
    pattern: int
    principal: str
    host: str
    operation: int
    permission: int

    @property
    def key(self) -> str:
        return ACLS + hashlib.sha256(self.encode()).hexdigest()[:32]

    def encode(self) -> bytes:
        return encode(
            {
                "resource_type": self.resource_type,
                "name": self.name,
                "pattern": self.pattern,
                "principal": self.principal,
                "host": self.host,
                "operation": self.operation,
                "permission": self.permission,
            }
        )

    @classmethod
    def decode(cls, value: bytes) -> "AclRecord":
        fields = json.loads(value)
        return cls(
            fields["resource_type"],
            fields["name"],
            fields["pattern"],
            fields["principal"],
            fields["host"],
            fields["operation"],
            fields["permission"],
        )


def broker_configs_key(node_id: int | None) -> str:
    """None is the default of all nodes."""
    return BROKER_CONFIGS + (BROKER_DEFAULT if node_id is None else str(node_id))


def group_configs_key(group_id: str) -> str:
    return GROUP_CONFIGS + group_id


def decode_configs(entry: Entry | None) -> dict[str, str]:
    return {} if entry is None else dict(json.loads(entry.value))


def partition_of(key: str) -> tuple[TopicId, int]:
    """Which partition an entry under `partitions/` is about."""
    topic_id, _, partition = key.removeprefix(PARTITIONS).partition("/")
    return bytes.fromhex(topic_id), int(partition)


def encode(value: Any) -> bytes:
    """JSON, the same bytes for the same value."""
    return json.dumps(value, separators=(",", ":"), sort_keys=True).encode()


def cluster_id(catalogue: Catalogue, random_bytes: RandomBytes) -> str:
    """The id that the catalogue holds, or a new one, now in the catalogue."""
    while (entry := catalogue.get(CLUSTER_ID)) is None:
        value = id_text(new_id(random_bytes)).encode()
        try:
            catalogue.commit(Commit((Compare(CLUSTER_ID, 0),), (Put(CLUSTER_ID, value),)))
        except CatalogueConflict:
            continue
    return entry.value.decode()


def cluster_secret(catalogue: Catalogue, random_bytes: RandomBytes) -> bytes:
    """By which the nodes of a cluster know each other: only they can read the catalogue. Made once."""
    while (entry := catalogue.get(CLUSTER_SECRET)) is None:
        value = random_bytes(SECRET_BYTES).hex().encode()
        with suppress(CatalogueConflict):
            catalogue.commit(Commit((Compare(CLUSTER_SECRET, 0),), (Put(CLUSTER_SECRET, value),)))
    return bytes.fromhex(entry.value.decode())
