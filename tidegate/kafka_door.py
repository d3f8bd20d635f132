"""The Kafka door, composed: its bounds, and the services that its handlers name."""

import random
from collections.abc import Collection
from functools import partial
from typing import Any

from coordinators.access.users import Users
from coordinators.background import Background
from coordinators.cluster.config import RACK_AWARE
from coordinators.cluster.controller import ClusterController
from coordinators.cluster.nodes import Nodes
from coordinators.internal_topics import InternalTopics
from coordinators.letter_writing import LetterWriting
from coordinators.records.deleting import Deleting
from coordinators.records.directory import PartitionDirectory
from coordinators.records.long_polls import LongPolls
from coordinators.records.nearest import NearestReplicas
from coordinators.records.offset_lookup import OffsetLookup
from coordinators.records.publishing import Publishing
from coordinators.records.reading import Reading
from coordinators.share.dead_letters import ShareDeadLetters
from coordinators.share.letter_search import LetterSearch
from coordinators.share.ports import LetterCalls, ShareStates
from coordinators.share.sessions import ShareSessions
from coordinators.share.sharing import Sharing
from coordinators.share.states import LocalShareStates
from coordinators.topics import Topics
from coordinators.tracing.tracing import Tracing
from engine.clock import Clock
from engine.config.resolve import BrokerSettings
from engine.timers import Timers
from engine.workers import Workers
from tidegate.descriptors import DescriptorPlan
from tidegate.entrances import Entrances
from tidegate.node import Node
from wire.inner.asking import InnerClient
from wire.inner.producers import LentProducers
from wire.inner.reading import RecordReading
from wire.inner.residents import Residents
from wire.inner.sending import Sending
from wire.kafka.calls import Calls
from wire.kafka.config import Limits
from wire.kafka.connection_limits import entry_limits
from wire.kafka.cork import Cork
from wire.kafka.fetch_sessions import FetchSessions
from wire.kafka.nodes.carried import CarriedRequests
from wire.kafka.nodes.carrying import Carrying
from wire.kafka.nodes.trust import NodeTrust
from wire.kafka.request_bounds import RequestBounds
from wire.kafka.server import KafkaServer
from wire.services import Services

SESSION_EVICTION_MS = 120_000


def door_services(
    services: Services, clock: Clock, workers: Workers, chance: random.Random, descriptors: DescriptorPlan
) -> dict[type[Any], object]:
    """What the door adds to a node's services."""
    directory = services[PartitionDirectory]
    settings = directory.topics.settings
    limits = kafka_limits(settings, descriptors)
    sessions = FetchSessions(
        settings.integer("max.incremental.fetch.session.cache.slots"),
        SESSION_EVICTION_MS,
        clock,
        chance,
        settings.integer("socket.request.max.elements"),
    )
    long_polls = LongPolls(settings.integer("fetch.max.waiting.requests"))
    tracing = services[Tracing]
    nearest = NearestReplicas(services[Nodes], settings.text("replica.selector.class") == RACK_AWARE)
    reading = Reading(directory, tracing, clock, services[Timers], long_polls, limits.max_fetch_bytes, nearest)
    sharing, letters = _sharing(services, reading, workers), ShareDeadLetters(services[LetterWriting])
    sharing.on_letters.append(letters.wake)
    calls: LetterCalls = services[LetterCalls]  # type: ignore[type-abstract]
    search = LetterSearch(services[LocalShareStates], sharing, calls, clock, services[Timers])
    deleting, lookup = Deleting(directory), OffsetLookup(directory, clock, workers)
    made = (limits, sessions, long_polls, reading, sharing, letters, search, deleting, lookup)
    return {type(each): each for each in (*made, *_inner(services, clock, workers))}


def _inner(services: Services, clock: Clock, workers: Workers) -> tuple[object, ...]:
    """By which other doors, here and on other nodes, ask what clients ask."""
    calls, background = Calls(workers), services[Background]
    carried = CarriedRequests(calls, services[NodeTrust], background)
    inner = InnerClient(calls, services[Carrying], services[Topics], services[InternalTopics], background, clock)
    room = services[Publishing].opener.room
    producers = LentProducers(services[LetterWriting].new_producer_id)
    sending, reading = Sending(inner, clock, producers), RecordReading(inner, workers, room)
    settings, random_bytes = services[Topics].settings, services[NodeTrust].random_bytes
    nodes = services[Nodes]
    residents = Residents(inner, reading, sending, background, workers, nodes, settings, random_bytes)
    return calls, carried, inner, sending, reading, residents


def _sharing(services: Services, reading: Reading, workers: Workers) -> Sharing:
    """What is handed out lives and dies with the leadership of its partition."""
    sessions = ShareSessions(reading.directory.topics.settings.integer("group.share.max.share.sessions"))
    states: ShareStates = services[ShareStates]  # type: ignore[type-abstract]
    sharing = Sharing(reading, states, workers, sessions)
    replicas = services[ClusterController].replicas
    replicas.on_leading.append(sharing.leads)
    replicas.on_resigned.append(sharing.resigned)
    return sharing


def kafka_server(node: Node, cork: Cork) -> KafkaServer:
    """The door of a node whose services are complete."""
    services, rounds = node.services, node.partitions.rounds
    entrances = services[Entrances].all
    limits, tracing = services[Limits], node.tracing
    server = KafkaServer(services, limits, node.clock, node.workers, rounds, cork, tracing, entrances)
    services[Calls].serve_by(server)
    services[Users].on_lost.append(partial(_revoke_logins, server))
    return server


def _revoke_logins(server: KafkaServer, name: str, mechanisms: Collection[str]) -> None:
    """A user cannot log in by these any more: who has done so is served no longer."""
    for connection in server.connections.values():
        if (login := connection.peer.login) is not None:
            login.revoke(name, mechanisms)


def kafka_limits(settings: BrokerSettings, descriptors: DescriptorPlan) -> Limits:
    """The bounds that the broker's configuration sets."""
    return Limits(
        max_frame_bytes=settings.integer("socket.request.max.bytes"),
        max_control_frame_bytes=settings.integer("socket.control.request.max.bytes"),
        max_large_request_bytes=settings.integer("queued.max.request.bytes"),
        max_connections=descriptors.connections,
        max_connections_per_address=settings.integer("max.connections.per.ip"),
        max_idle_ms=settings.integer("connections.max.idle.ms"),
        max_requests_in_flight=settings.integer("connection.max.inflight.requests"),
        max_bytes_in_flight=settings.integer("connection.max.inflight.bytes"),
        request=RequestBounds(
            settings.integer("socket.request.max.elements"), settings.integer("socket.request.max.expansion")
        ),
        max_response_bytes=settings.integer("socket.response.max.bytes"),
        request_progress_timeout_ms=settings.integer("socket.request.progress.timeout.ms"),
        max_fetch_bytes=settings.integer("fetch.max.bytes"),
        entry=entry_limits(settings),
    )
