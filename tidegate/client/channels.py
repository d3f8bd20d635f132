"""Where the broker is and how one comes in; a pool of channels; the methods of the door by name."""

import base64
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from typing import Any, Final

import grpc
from attrs import field, frozen

from tidegate.client.messages import admin_pb2, consume_pb2, produce_pb2
from tidegate.client.messages.records_pb2 import PartitionRecords

OPTIONS: Final = (
    ("grpc.max_receive_message_length", 64 * 1024 * 1024),
    ("grpc.keepalive_time_ms", 60_000),
    # Channels of a pool are connections of their own.
    ("grpc.use_local_subchannel_pool", 1),
)
METHODS: Final[dict[str, tuple[str, str, Any]]] = {
    "send": ("Produce/Send", "unary_unary", produce_pb2.SendResponse),
    "read": ("Consume/Read", "unary_stream", PartitionRecords),
    "create_topic": ("Admin/CreateTopic", "unary_unary", admin_pb2.CreateTopicResponse),
    "describe_topic": ("Admin/DescribeTopic", "unary_unary", admin_pb2.TopicDescription),
    "group": ("Consume/Group", "stream_stream", consume_pb2.GroupResponse),
    "share": ("Consume/Share", "stream_stream", consume_pb2.ShareResponse),
    "list_topics": ("Admin/ListTopics", "unary_unary", admin_pb2.ListTopicsResponse),
    "delete_topic": ("Admin/DeleteTopic", "unary_unary", admin_pb2.DeleteTopicResponse),
    "list_delayed": ("Admin/ListDelayed", "unary_unary", admin_pb2.ListDelayedResponse),
    "cancel_delayed": ("Admin/CancelDelayed", "unary_unary", admin_pb2.DelayedRecordState),
}


@frozen
class Tls:
    """Files in PEM: who vouches for the broker (left out, the system's authorities), and one's own certificate."""

    authority: str | Path | None = None
    certificate: str | Path | None = None
    key: str | Path | None = None

    def credentials(self) -> grpc.ChannelCredentials:
        """As gRPC wants them."""
        files = (self.authority, self.key, self.certificate)
        return grpc.ssl_channel_credentials(*(None if file is None else Path(file).read_bytes() for file in files))


@frozen
class Login:
    """Who one is: a token, or a name and a password."""

    token: str | None = field(default=None, repr=False)
    user: str | None = None
    password: str | None = field(default=None, repr=False)

    def metadata(self) -> tuple[tuple[str, str], ...]:
        """What every call carries."""
        if self.token is not None:
            return (("authorization", f"Bearer {self.token}"),)
        if self.user is None:
            return ()
        shown = base64.b64encode(f"{self.user}:{self.password or ''}".encode()).decode()
        return (("authorization", f"Basic {shown}"),)


@frozen
class Way:
    """Where the broker is and how one comes in."""

    addresses: tuple[str, ...]
    login: Login = Login()
    tls: Tls | None = None
    client_id: str | None = None

    def metadata(self) -> tuple[tuple[str, str], ...]:
        """What every call carries."""
        named = () if self.client_id is None else (("tidegate-client-id", self.client_id),)
        return (*self.login.metadata(), *named)


class ChannelPool:
    """Some channels to each address, used in turn: so that calls find another node when one is gone."""

    def __init__(self, way: Way, size: int, module: Any) -> None:
        """`module` is grpc, or grpc.aio: both make channels by functions of the same names."""
        assert way.addresses, "a client needs an address"
        self.metadata = way.metadata()
        credentials = None if way.tls is None else way.tls.credentials()
        self.channels: Sequence[Any] = [
            module.insecure_channel(address, OPTIONS)
            if credentials is None
            else module.secure_channel(address, credentials, OPTIONS)
            for _ in range(size)
            for address in way.addresses
        ]
        self._turn = count()

    def method(self, name: str) -> Callable[..., Any]:
        """A method of the door, by the next channel."""
        path, kind, answer = METHODS[name]
        channel = self.channels[next(self._turn) % len(self.channels)]
        found: Callable[..., Any] = getattr(channel, kind)(
            f"/tidegate.v1.{path}", request_serializer=_serialized, response_deserializer=answer.FromString
        )
        return found


def _serialized(message: Any) -> bytes:
    data: bytes = message.SerializeToString()
    return data
