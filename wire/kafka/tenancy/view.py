"""How a tenant's clients see the broker: which names they use for what is called otherwise here, and what there is.

`..._read` makes of what a client says what the broker means, `..._written` the reverse. Whatever a client says becomes
a name within its tenant's namespace: nothing else can be said, so nothing else can be reached. There are two manners:

- `RewritingView`: the client says `orders` for `acme.orders`.
- `PrefixedView`: the client says `acme.orders` itself. What does not begin so becomes a name that nothing can have,
  with a NUL in it, and is not found, or not taken.

Topic ids of others become ids that no topic has, and again themselves in the answer.
"""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from coordinators.configs import ResourceType
from coordinators.tenants.patterns import TenantPattern
from coordinators.topic_view import TopicView
from engine.ids import TopicId
from wire.kafka.codec.primitives import MAX_STRING_BYTES, WireError
from wire.kafka.errors import ErrorCode
from wire.kafka.messages.base import ZERO_UUID
from wire.kafka.tenancy.fields import OFFERED
from wire.kafka.tenancy.opaque import renamed_assignment, renamed_subscription, told_assignment, told_subscription

if TYPE_CHECKING:
    from wire.kafka.messages.api_versions import ApiVersion
    from wire.kafka.messages.list_config_resources import ConfigResource

FOREIGN = "\0"
"""Follows the prefix in what stands for a name outside the namespace."""
OTHER_KIND = "\1"
"""Follows it in what stands for a resource that is no tenant's: its type and name come behind."""
TOPIC_VALUED = frozenset(("dead.letter.topic", "errors.deadletterqueue.topic.name"))
"""Configs whose value names a topic."""
NAMED_RESOURCES = frozenset((ResourceType.TOPIC.value, ResourceType.GROUP.value))
WITHHELD_REASON = "this resource is the operator's: a tenant configures its topics and groups"


class TenantView:
    """What both manners have in common. `topics` are the broker's, of all tenants and of none."""

    is_rewriting = False

    def __init__(self, tenant: str, prefix: str, topics: TopicView) -> None:
        self.tenant = tenant
        self.prefix = prefix
        self.topics = topics
        self._foreign = prefix + FOREIGN
        self._other_kind = prefix + OTHER_KIND
        self._most_bytes = MAX_STRING_BYTES - len(self._foreign)
        escaped = re.escape(prefix)
        self._prefix_in_words = re.compile(rf"(?<![\w.-]){escaped}(?:\x00|\\x00|(?=[\w.-]))")

    def _checked(self, name: str) -> str:
        """With its prefix it must still be a text that all versions of a message can hold."""
        if len(name) * 4 > self._most_bytes and len(name.encode()) > self._most_bytes:
            raise WireError(f"a name of {len(name)} characters is longer than a tenant's can be")
        return name

    # -- names

    def name_read(self, name: str | None) -> str | None:
        raise NotImplementedError

    def name_written(self, name: str | None) -> str | None:
        raise NotImplementedError

    def is_mine(self, name: str | None) -> bool:
        """Whether the tenant may be told of this."""
        return not name or (name.startswith(self.prefix) and name != self.prefix)

    def names(self) -> list[str]:
        """The tenant's topics."""
        return [name for name in self.topics.by_name if name.startswith(self.prefix)]

    # -- ids

    def topic_id_read(self, topic_id: TopicId) -> TopicId:
        return topic_id if self.is_my_id(topic_id) else _other_id(topic_id)

    def topic_id_written(self, topic_id: TopicId) -> TopicId:
        if topic_id in self.topics.by_id or topic_id == ZERO_UUID:
            return topic_id
        other = _other_id(topic_id)
        return other if not self.is_my_id(other) else topic_id

    def is_my_id(self, topic_id: TopicId) -> bool:
        """Whether it is the id of no topic or of one of the tenant's."""
        topic = self.topics.by_id.get(topic_id)
        return topic is None or topic.name.startswith(self.prefix)

    # -- what holds names

    def pattern_read(self, expression: str | None) -> str | None:
        return TenantPattern(self.prefix, expression, self.is_rewriting).text if expression else expression

    def pattern_written(self, expression: str | None) -> str | None:
        return TenantPattern.read(expression).expression if expression else expression

    def subscription_read(self, data: bytes) -> bytes:
        return told_subscription(data, self.name_read)

    def subscription_written(self, data: bytes) -> bytes:
        return renamed_subscription(data, self.name_written)

    def assignment_read(self, data: bytes) -> bytes:
        return told_assignment(data, self.name_read)

    def assignment_written(self, data: bytes) -> bytes:
        return renamed_assignment(data, self.name_written)

    def reason_written(self, reason: str | None) -> str | None:
        return reason

    # -- structs

    def resource_read(self, resource: Any) -> Any:
        """What is to be configured. A tenant configures topics and groups; the rest becomes a topic that cannot be."""
        kind, name = resource.resource_type, resource.resource_name
        if kind in NAMED_RESOURCES:
            resource.resource_name = self.name_read(name)
        else:
            resource.resource_type = ResourceType.TOPIC.value
            resource.resource_name = f"{self._other_kind}{kind}:{self._checked(name)}"
        return resource

    def resource_written(self, resource: Any) -> Any:
        name = resource.resource_name
        if not name.startswith(self._other_kind):
            return msgspec.structs.replace(resource, resource_name=self.name_written(name))
        kind, _, named = name.removeprefix(self._other_kind).partition(":")
        return msgspec.structs.replace(
            resource,
            resource_type=int(kind) if kind.lstrip("-").isdecimal() else resource.resource_type,
            resource_name=named,
            error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
            error_message=WITHHELD_REASON,
        )

    def config_read(self, config: Any) -> Any:
        if config.name in TOPIC_VALUED and config.value:
            config.value = self.name_read(config.value)
        return config

    def config_written(self, config: Any) -> Any:
        if config.name in TOPIC_VALUED and config.value:
            return msgspec.structs.replace(config, value=self.name_written(config.value))
        return config

    # -- what of a list is told

    def offers(self, api: "ApiVersion") -> bool:
        """Whether the tenant has this API."""
        return api.api_key in OFFERED

    def shows_resource(self, resource: "ConfigResource") -> bool:
        """Whether it is told that this is configured."""
        return resource.resource_type in NAMED_RESOURCES and self.is_mine(resource.resource_name)


class RewritingView(TenantView):
    """Names without the prefix."""

    is_rewriting = True

    def name_read(self, name: str | None) -> str | None:
        return self.prefix + self._checked(name) if name else name

    def name_written(self, name: str | None) -> str | None:
        return name.removeprefix(self.prefix) if name else name

    def reason_written(self, reason: str | None) -> str | None:
        return self._prefix_in_words.sub("", reason) if reason else reason


class PrefixedView(TenantView):
    """Names as they are."""

    def name_read(self, name: str | None) -> str | None:
        if not name or (name.startswith(self.prefix) and not name.startswith(self._foreign)):
            return name
        return self._foreign + self._checked(name)

    def name_written(self, name: str | None) -> str | None:
        return name.removeprefix(self._foreign) if name else name

    def reason_written(self, reason: str | None) -> str | None:
        if not reason or ("\0" not in reason and "\\x00" not in reason):
            return reason
        return reason.replace(self._foreign, "").replace(self.prefix + "\\x00", "")


def _other_id(topic_id: TopicId) -> TopicId:
    """An id that no topic has, for as long as ids are drawn by chance; of that id it is the first one again."""
    return bytes(byte ^ 0xFF for byte in topic_id)


VIEWS: Mapping[bool, type[TenantView]] = {True: RewritingView, False: PrefixedView}
"""By whether names are rewritten."""
