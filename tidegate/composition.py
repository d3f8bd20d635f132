"""A node's parts, made and joined: from what it stands on to its doors, each when all that it needs is there."""

import logging
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import trio
from attrs import frozen

from coordinators.background import Background
from coordinators.cluster.controller import ClusterController
from coordinators.cluster.deletions import CleanUp, Deletions
from coordinators.cluster.nodes import NodeIdentity, Nodes
from coordinators.cluster.replica_manager import ReplicaManager
from coordinators.group.groups import Groups
from coordinators.group.share.administration import ShareGroupAdministration
from coordinators.internal_topics import InternalTopics
from coordinators.letter_writing import LetterWriting
from coordinators.producer_ids import ProducerIds
from coordinators.records.directory import PartitionDirectory
from coordinators.records.publishing import Publishing
from coordinators.release.dead_letters import DeadLetters
from coordinators.release.releases import Releases
from coordinators.replication.ports import FollowerReads, NoFollowers
from coordinators.scrubbing import Scrubbing
from coordinators.topics import Topics
from coordinators.transaction.markers import LocalMarkers
from coordinators.transaction.orphans import Orphans
from coordinators.transaction.ports import MarkerWriter, TransactionVerification
from coordinators.transaction.transactions import Transactions
from coordinators.waiting import in_worker
from engine.catalogue.catalogue import Catalogue
from engine.catalogue.records import cluster_id, cluster_secret
from engine.clock import Clock
from engine.config.resolve import BrokerSettings
from engine.files.files import OsFiles
from engine.files.relief import FileRelief
from engine.journal.journal import Journal
from engine.log.producer_room import ProducerRoom
from engine.metrics import Metrics
from engine.partition.partitions import Partitions
from engine.partition.sync import SyncRounds
from engine.timers import Timers
from engine.workers import Workers
from tidegate.access import compose_access
from tidegate.cleaning import Cleaning
from tidegate.clustering import Clustering
from tidegate.config import BrokerConfig
from tidegate.descriptors import DescriptorPlan
from tidegate.entrances import Entrances
from tidegate.kafka_door import door_services
from tidegate.node import Node
from tidegate.operations import Operations
from tidegate.pulse import Pulse
from tidegate.schemas import RegistryDoor
from tidegate.sharing import ShareParts
from tidegate.tenants import tenant_services
from tidegate.tracing import open_tracing, publish_events
from tidegate.validation import compose_validation
from tidegate.world import World
from wire.kafka.cork import Cork
from wire.kafka.nodes.carrying import Carrying
from wire.kafka.nodes.trust import NodeTrust
from wire.kafka.server import KafkaServer
from wire.kafka.told_nodes import ToldNodes
from wire.services import Services

if TYPE_CHECKING:
    from tidegate.cluster_links import ClusterLinks
    from tidegate.grpc_door import GrpcDoorway
    from tidegate.text_door import TextDoor

logger = logging.getLogger("tidegate")


@frozen(eq=False)
class Foundation:
    """What a node's parts stand on: the world, what makes records durable, what runs in the background."""

    world: World
    data_dir: str
    pulse: Pulse
    cork: Cork
    journal: Journal
    rounds: SyncRounds
    background: Background

    @classmethod
    def lay(cls, world: World, data_dir: str, settings: BrokerSettings) -> "Foundation":
        """Nothing is read or begun yet."""
        pulse, cork = Pulse(world.clock), Cork()
        journal = Journal(
            data_dir,
            world.files,
            world.journal_device,
            world.workers,
            world.random_bytes,
            slot_bytes=settings.integer("log.journal.segment.bytes"),
            slot_count=settings.integer("log.journal.segments"),
        )
        rounds = SyncRounds(world.sync_workers, pulse.wake_syncs, world.round_sync, journal, world.workers, cork)
        return cls(world, data_dir, pulse, cork, journal, rounds, Background())


@frozen(eq=False)
class Parts:
    """A node that is whole, and has not begun."""

    node: Node
    server: KafkaServer
    operations: Operations
    grpc: "GrpcDoorway | None"
    text: "TextDoor | None"
    registry: RegistryDoor
    cleaning: Cleaning
    scrubbing: Scrubbing

    async def drain(self) -> None:
        """Let callers of the doors have the answers that they wait for, for a moment, while the node still serves."""
        grpc = None if self.grpc is None else self.grpc.server
        text = None if self.text is None else self.text.server
        async with trio.open_nursery() as nursery:
            for door in (self.operations.server, self.registry.server, grpc, text):
                if door is not None:
                    nursery.start_soon(door.drain)


async def compose_node(
    under: Foundation, config: BrokerConfig, settings: BrokerSettings, catalogue: Catalogue, descriptors: DescriptorPlan
) -> Node:
    """The services: of the domain, and those that the doors add."""
    world, timers = under.world, under.pulse.timers
    clock, workers, random_bytes = world.clock, world.workers, world.random_bytes
    topics = await in_worker(workers, Topics.load, catalogue, settings, config.node_id, random_bytes)
    partitions = _partitions(under, topics.settings)
    nodes = await in_worker(workers, Nodes.load, catalogue)
    replicas = ReplicaManager(catalogue, topics, partitions, workers, under.background, nodes, world.catalogue_workers)
    controller = ClusterController(replicas)
    clustering = Clustering.compose(world, controller)
    internal_topics = InternalTopics(controller)
    clustering.look_after(internal_topics)
    groups = Groups.compose(internal_topics, topics.settings, clock, timers, workers, random_bytes)
    tracing = await open_tracing(controller, groups, clock, workers, random_bytes, under.data_dir)
    producer_ids = ProducerIds(catalogue)
    directory = PartitionDirectory(topics, partitions)
    trust = await _trust(under, config.node_id, catalogue)
    access = await compose_access(under, config, controller, trust)
    markers = LocalMarkers(directory, clock)
    links = None if clustering.is_alone else _links(under, trust, nodes, settings, access)
    writer: MarkerWriter = markers if links is None else links.markers(markers)
    transactions = Transactions(internal_topics, producer_ids, writer, topics.settings, clock, timers, workers)
    verification = _verification(transactions, directory, links)
    releases = Releases.compose(controller, clock, timers, tracing)
    publishing = Publishing.compose(directory, releases, verification, tracing, topics.settings, clock, workers)
    publishing.validate_by(compose_validation(access, controller, workers))
    publish_events(tracing, controller, clock, timers, publishing)
    letters = _letters(controller, producer_ids, clock, publishing, links)
    releases.on_dead_letters.append(letters[1].wake)
    sharing = ShareParts.compose(internal_topics, directory, clock, timers, workers, links)
    share_groups = ShareGroupAdministration(groups, sharing.states, sharing.records, topics.view)
    clean_ups: list[CleanUp] = [groups.forget_topics, sharing.local_states.forget_topics]
    deletions = Deletions(controller, clean_ups, clustering.acts_for_all)
    identity = await _identity(under, config.node_id, catalogue, topics.settings)
    followers = _followers(world, clustering, controller, releases, timers, links)
    domain = (
        identity,
        nodes,
        ToldNodes(nodes, identity, clock),
        trust,
        topics,
        partitions,
        directory,
        controller,
        *access,
        clustering,
        *clustering.parts,
        deletions,
        internal_topics,
        producer_ids,
        groups,
        share_groups,
        transactions,
        Orphans(transactions, None if links is None else links.coordinators(transactions, directory)),
        markers,
        releases,
        publishing,
        publishing.refused_headers,
        *letters,
        tracing,
        timers,
        under.background,
        Carrying(None if links is None else links.carried),
    )
    ports = {Clock: clock, Workers: workers, TransactionVerification: verification, FollowerReads: followers}
    services = Services(ports | {type(each): each for each in domain} | sharing.services)
    added = tenant_services(services) | door_services(services, clock, workers, world.chance, descriptors)
    return Node(services.extended(added), clock, workers)


async def _identity(under: Foundation, node_id: int, catalogue: Catalogue, settings: BrokerSettings) -> NodeIdentity:
    cluster = await in_worker(under.world.workers, cluster_id, catalogue, under.world.random_bytes)
    return NodeIdentity(node_id, cluster, _rack(settings))


def _letters(
    controller: ClusterController,
    producer_ids: ProducerIds,
    clock: Clock,
    publishing: Publishing,
    links: "ClusterLinks | None",
) -> tuple[LetterWriting, DeadLetters]:
    carrier = None if links is None else links.letters
    writing = LetterWriting(controller, producer_ids, clock, publishing, carrier)
    return writing, DeadLetters(writing)


async def _trust(under: Foundation, node_id: int, catalogue: Catalogue) -> NodeTrust:
    """By a secret, where others share the catalogue."""
    world, secret = under.world, None
    if math.isfinite(catalogue.session.duration_s):
        secret = await in_worker(world.catalogue_workers, cluster_secret, catalogue, world.random_bytes)
    return NodeTrust(node_id, world.random_bytes, secret)


def _links(
    under: Foundation, trust: NodeTrust, nodes: Nodes, settings: BrokerSettings, access: Sequence[object]
) -> "ClusterLinks":
    # Not imported by a node that is alone.
    from tidegate.cluster_links import ClusterLinks

    (entrances,) = (each for each in access if isinstance(each, Entrances))
    return ClusterLinks.compose(under.world, trust, nodes, under.background, settings, entrances.identities)


def _verification(
    transactions: Transactions, directory: PartitionDirectory, links: "ClusterLinks | None"
) -> TransactionVerification:
    return transactions if links is None else links.verification(transactions, directory)


def _followers(
    world: World,
    clustering: Clustering,
    controller: ClusterController,
    releases: Releases,
    timers: Timers,
    links: "ClusterLinks | None",
) -> FollowerReads:
    if links is None:
        return NoFollowers()
    clustering.hear(links.heartbeats(controller.replicas))
    return clustering.replicate(world, controller, releases, timers, links.replicas)


def _partitions(under: Foundation, settings: BrokerSettings) -> Partitions:
    world = under.world
    return Partitions(
        data_dir=under.data_dir,
        files=world.files,
        clock=world.clock,
        workers=world.workers,
        rounds=under.rounds,
        call_later=under.pulse.call_later,
        log_error=logger.error,
        journal=under.journal,
        producer_room=ProducerRoom(settings.integer("max.producer.ids")),
    )


def relieve_files(under: Foundation, partitions: Partitions, metrics: Metrics) -> None:
    """Have files closed when too many are open, where there are such."""
    files = under.world.files
    if isinstance(files, OsFiles):
        metrics.register(FileRelief(files, partitions.logs, under.rounds.settle, under.pulse.call_later).collect)


def _rack(settings: BrokerSettings) -> str | None:
    return None if settings["broker.rack"] is None else settings.text("broker.rack")
