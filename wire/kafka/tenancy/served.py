"""The APIs as they are served to one tenant: read and written by its view, counted as its use."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from coordinators.tenants.usage import TenantUsage
from engine.metrics import Histogram
from wire.kafka.apis import Api
from wire.kafka.codec import MAX_REQUEST_ELEMENTS, Part
from wire.kafka.connection import PRODUCE_KEY
from wire.kafka.messages.base import ZERO_UUID
from wire.kafka.messages.describe_topic_partitions import DescribeTopicPartitionsRequest, TopicRequest
from wire.kafka.messages.fetch import FetchRequest, FetchResponse
from wire.kafka.messages.metadata import MetadataRequest, MetadataRequestTopic
from wire.kafka.messages.produce import ProduceRequest
from wire.kafka.request import Context
from wire.kafka.served_apis import FETCH_KEY, ServedApi, ServedApis
from wire.kafka.steps import Steps
from wire.kafka.tenancy.codec import tenant_request_decoder, tenant_response_encoder
from wire.kafka.tenancy.fields import OFFERED
from wire.kafka.tenancy.view import TenantView

METADATA_KEY = 3
DESCRIBE_TOPIC_PARTITIONS_KEY = 75
SHARE_FETCH_KEY = 78
NO_SESSION = 0
NOBODYS_SESSION = -1
"""A session that there never is."""
SESSIONS_MAX = 10_000
"""The most fetch sessions of a tenant that are remembered; one that is not begins anew."""


class TenantServedApi(ServedApi):
    """One API in one version for one tenant."""

    __slots__ = ("_counted", "_view")

    def __init__(
        self,
        api: Api,
        version: int,
        latencies: Histogram,
        max_elements: int,
        view: TenantView,
        handle: Callable[[Any, Any], Any],
        counted: Callable[[Any, list[Part]], object] | None,
    ) -> None:
        super().__init__(api, version, latencies, max_elements)
        self._view = view
        self.handle = handle
        self.decode = partial(tenant_request_decoder(api.key, version, max_elements), t=view)
        encode = partial(tenant_response_encoder(api.key, version), t=view)
        self.encode = encode if counted is None else partial(_counted, encode, counted)
        self._counted = counted

    def decode_in_steps(self, frame: bytes, position: int) -> Steps[Any]:
        """Reads a large request."""
        decode = tenant_request_decoder(self.api_key, self.version, self._max_elements, in_steps=True)
        return decode(frame, position, self._view)  # type: ignore[no-any-return]

    def encode_in_steps(self, message: Any) -> Steps[list[Part]]:
        """Writes what may be a large answer."""
        encode = tenant_response_encoder(self.api_key, self.version, in_steps=True)
        parts: list[Part] = yield from encode(message, self._view)
        if self._counted is not None:
            self._counted(message, parts)
        return parts


def _counted(
    encode: Callable[[Any], list[Part]], counted: Callable[[Any, list[Part]], object], message: Any
) -> list[Part]:
    parts = encode(message)
    counted(message, parts)
    return parts


class TenantServedApis(ServedApis):
    """The APIs that a tenant has; see `ServedApis`."""

    def __init__(
        self,
        apis: Mapping[int, Api],
        latencies: Mapping[int, Histogram],
        view: TenantView,
        usage: TenantUsage,
        max_elements: int = MAX_REQUEST_ELEMENTS,
    ) -> None:
        super().__init__({key: apis[key] for key in OFFERED if key in apis}, latencies, max_elements)
        self.view = view
        self.usage = usage
        # Of the fetch sessions those that this tenant was given; a number may be guessed.
        self._sessions: dict[int, None] = {}

    def _made(self, api: Api, version: int) -> ServedApi:
        handle = self._counting(api)
        counted = {FETCH_KEY: self._fetched, SHARE_FETCH_KEY: self._count_consumed}.get(api.key)
        return TenantServedApi(api, version, self._latencies[api.key], self._max_elements, self.view, handle, counted)

    def _counting(self, api: Api) -> Callable[[Any, Any], Any]:
        """The handler, which says whose request it was, after what is the tenant's own about it."""
        inner, usage, prepare = api.handle, self.usage, self._prepares(api.key)

        def handle(request: Any, context: Context) -> Any:
            usage.requests += 1
            if prepare is not None and request is not None:
                prepare(request, context)
            return inner(request, context)

        return handle

    def _prepares(self, key: int) -> Callable[[Any, Context], None] | None:
        prepared: dict[int, Callable[[Any, Context], None]] = {
            PRODUCE_KEY: self._count_produced,
            FETCH_KEY: self._own_session,
            METADATA_KEY: self._own_topics,
            DESCRIBE_TOPIC_PARTITIONS_KEY: self._own_partitions,
        }
        return prepared.get(key)

    # -- what is prepared

    def _own_topics(self, request: MetadataRequest, context: Context) -> None:
        """Who asks for all topics is told of its own; not because the others are left out at the end, which would take
        as long as there are topics."""
        if request.topics is None or (context.version == 0 and not request.topics):
            request.topics = [MetadataRequestTopic(topic_id=ZERO_UUID, name=name) for name in self.view.names()]
            request.allow_auto_topic_creation = False

    def _own_partitions(self, request: DescribeTopicPartitionsRequest, _: Context) -> None:
        if not request.topics:
            # Where there are none, one that cannot be: an empty list would be all.
            names = self.view.names() or [self.view.prefix]
            request.topics = [TopicRequest(name) for name in sorted(names)]

    def _own_session(self, request: FetchRequest, _: Context) -> None:
        if request.session_id != NO_SESSION and request.session_id not in self._sessions:
            request.session_id = NOBODYS_SESSION

    def _count_produced(self, request: ProduceRequest, _: Context) -> None:
        size = 0
        for topic in request.topic_data:
            for partition in topic.partition_data:
                if partition.records is not None:
                    size += len(partition.records)
        self.usage.produced_bytes += size

    # -- what is counted

    def _count_consumed(self, _: Any, parts: list[Part]) -> None:
        self.usage.consumed_bytes += sum(len(part) if isinstance(part, bytes) else part.size for part in parts)

    def _fetched(self, response: FetchResponse, parts: list[Part]) -> None:
        """Count, and note if the tenant has been given a session."""
        self._count_consumed(response, parts)
        sessions = self._sessions
        if response.session_id != NO_SESSION and response.session_id not in sessions:
            if len(sessions) >= SESSIONS_MAX:
                del sessions[next(iter(sessions))]
            sessions[response.session_id] = None
