"""The APIs as they are served to one tenant: read and written by its view, and charged to it."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from coordinators.access.access import AccessControl
from engine.errors import ClusterAuthorizationFailed
from engine.metrics import Histogram
from wire.kafka.apis import Api
from wire.kafka.codec import Part
from wire.kafka.messages.base import ZERO_UUID
from wire.kafka.messages.describe_topic_partitions import DescribeTopicPartitionsRequest, TopicRequest
from wire.kafka.messages.fetch import FetchRequest, FetchResponse
from wire.kafka.messages.metadata import MetadataRequest, MetadataRequestTopic
from wire.kafka.request import Context
from wire.kafka.request_bounds import BOUNDS, RequestBounds
from wire.kafka.rights import DESCRIBE_TOPIC
from wire.kafka.served_apis import FETCH_KEY, ServedApi, ServedApis
from wire.kafka.steps import Steps
from wire.kafka.tenancy.charges import TenantCharges
from wire.kafka.tenancy.codec import tenant_request_decoder, tenant_response_encoder
from wire.kafka.tenancy.fields import OFFERED, REFUSED, WITHHELD
from wire.kafka.tenancy.view import TenantView

METADATA_KEY = 3
DESCRIBE_TOPIC_PARTITIONS_KEY = 75
NO_SESSION = 0
NOBODYS_SESSION = -1
"""A session that there never is."""
RULES = frozenset((29, 30, 31))
"""DescribeAcls, CreateAcls, DeleteAcls: of a tenant's rules, by handlers that know of no others."""
TenantRuleHandlers = Callable[[Api, TenantView], Callable[[Any, Any], Any]]
SESSIONS_MAX = 10_000
"""The most fetch sessions of a tenant that are remembered; one that is not begins anew."""


class TenantServedApi(ServedApi):
    """One API in one version for one tenant."""

    __slots__ = ("_noted", "_view")

    def __init__(
        self,
        api: Api,
        version: int,
        latencies: Histogram,
        bounds: RequestBounds,
        view: TenantView,
        handle: Callable[[Any, Any], Any],
        noted: Callable[[Any], object] | None,
    ) -> None:
        super().__init__(api, version, latencies, bounds)
        self._view = view
        self.handle = handle
        self.decode = partial(tenant_request_decoder(api.key, version, bounds), t=view)
        encode = partial(tenant_response_encoder(api.key, version), t=view)
        self.encode = encode if noted is None else partial(_noted, encode, noted)
        self._noted = noted

    def decode_in_steps(self, frame: bytes, position: int) -> Steps[Any]:
        """Reads a large request."""
        decode = tenant_request_decoder(self.api_key, self.version, self._bounds, in_steps=True)
        return decode(frame, position, self._view)  # type: ignore[no-any-return]

    def encode_in_steps(self, message: Any) -> Steps[list[Part]]:
        """Writes what may be a large answer."""
        encode = tenant_response_encoder(self.api_key, self.version, in_steps=True)
        if self._noted is not None:
            self._noted(message)
        return encode(message, self._view)  # type: ignore[no-any-return]


def _refuse(api: Api, request: Any, context: Context) -> Any:
    reason = ClusterAuthorizationFailed(f"not for the users of a tenant: {WITHHELD[api.key]}")
    return api.rights.refuse(request, context.version, reason)


def _noted(encode: Callable[[Any], list[Part]], noted: Callable[[Any], object], message: Any) -> list[Part]:
    noted(message)
    return encode(message)


class TenantServedApis(ServedApis):
    """The APIs that a tenant has; see `ServedApis`."""

    def __init__(
        self,
        apis: Mapping[int, Api],
        latencies: Mapping[int, Histogram],
        view: TenantView,
        charges: TenantCharges,
        access: AccessControl,
        rules: TenantRuleHandlers,
        bounds: RequestBounds = BOUNDS,
    ) -> None:
        super().__init__({key: apis[key] for key in OFFERED | REFUSED if key in apis}, latencies, bounds)
        self._rules = rules
        self.view = view
        self.charges = charges
        self._access = access
        # Of the fetch sessions those that this tenant was given; a number may be guessed.
        self._sessions: dict[int, None] = {}

    def _made(self, api: Api, version: int) -> ServedApi:
        if api.key in REFUSED:
            refused = super()._made(api, version)
            refused.handle = self.charges.charged(api.key, partial(_refuse, api))
            return refused
        handle = self.charges.charged(api.key, self._prepared(api))
        noted = self._note_session if api.key == FETCH_KEY else None
        return TenantServedApi(api, version, self._latencies[api.key], self._bounds, self.view, handle, noted)

    def _prepared(self, api: Api) -> Callable[[Any, Any], Any]:
        """The handler, after what is the tenant's own about its requests."""
        if api.key in RULES:
            return self._rules(api, self.view)
        inner, prepare = api.handle, self._prepares(api.key)
        if prepare is None:
            return inner

        def handle(request: Any, context: Context) -> Any:
            if request is not None:
                prepare(request, context)
            return inner(request, context)

        return handle

    def _prepares(self, key: int) -> Callable[[Any, Context], None] | None:
        prepared: dict[int, Callable[[Any, Context], None]] = {
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
            request.topics = [MetadataRequestTopic(topic_id=ZERO_UUID, name=name) for name in self._seen(context)]
            request.allow_auto_topic_creation = False

    def _seen(self, context: Context) -> list[str]:
        """The tenant's topics that the caller may know of."""
        access, caller = self._access, context.caller
        return [name for name in self.view.names() if access.permits(caller, DESCRIBE_TOPIC, name)]

    def _own_partitions(self, request: DescribeTopicPartitionsRequest, context: Context) -> None:
        if not request.topics:
            # Where there are none, one that cannot be: an empty list would be all.
            names = self._seen(context) or [self.view.prefix]
            request.topics = [TopicRequest(name) for name in sorted(names)]

    def _own_session(self, request: FetchRequest, _: Context) -> None:
        if request.session_id != NO_SESSION and request.session_id not in self._sessions:
            request.session_id = NOBODYS_SESSION

    def _note_session(self, response: FetchResponse) -> None:
        """Note if the tenant has been given one."""
        sessions = self._sessions
        if response.session_id != NO_SESSION and response.session_id not in sessions:
            if len(sessions) >= SESSIONS_MAX:
                del sessions[next(iter(sessions))]
            sessions[response.session_id] = None
