"""The door's methods for grpcio, without generated stubs."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import grpc

from tidegate.client.messages import admin_pb2, consume_pb2, produce_pb2
from tidegate.client.messages.records_pb2 import Header, NewRecord, PartitionRecords

PATIENCE_S = 60.0


class Stubs:
    """One channel's."""

    def __init__(self, channel: grpc.Channel) -> None:
        self.channel = channel
        self.send = self._of("Produce/Send", produce_pb2.SendResponse, "unary_unary")
        self.send_stream = self._of("Produce/SendStream", produce_pb2.SendResponse, "stream_stream")
        self.read = self._of("Consume/Read", PartitionRecords, "unary_stream")
        self.group = self._of("Consume/Group", consume_pb2.GroupResponse, "stream_stream")
        self.share = self._of("Consume/Share", consume_pb2.ShareResponse, "stream_stream")

    def _of(self, name: str, answer: Any, kind: str) -> Any:
        return getattr(self.channel, kind)(
            f"/tidegate.v1.{name}",
            request_serializer=lambda each: each.SerializeToString(),
            response_deserializer=answer.FromString,
        )

    def admin(self, name: str, request: Any, answer: Any, **options: Any) -> Any:
        """Ask a method of Admin."""
        return self._of(f"Admin/{name}", answer, "unary_unary")(request, timeout=PATIENCE_S, **options)

    def create_topic(self, topic: str, partitions: int = 1, **configs: str) -> None:
        """Make a topic; underscores in the names of settings are dots."""
        settings = {name.replace("_", "."): value for name, value in configs.items()}
        request = admin_pb2.CreateTopicRequest(topic=topic, partitions=partitions, configs=settings)
        self.admin("CreateTopic", request, admin_pb2.CreateTopicResponse)

    def write(self, topic: str, *records: NewRecord, **options: Any) -> produce_pb2.SendResponse:
        """Write records by one call; all must be taken."""
        answer = self.send(produce_pb2.SendRequest(topic=topic, records=records), timeout=PATIENCE_S, **options)
        assert not answer.refused, answer.refused
        return answer

    def read_all(self, topic: str, **options: Any) -> list[Any]:
        """Everything up to the end, by partition and offset."""
        found = []
        for portion in self.read(consume_pb2.ReadRequest(topic=topic, until_end=True, **options), timeout=PATIENCE_S):
            found += [(portion.partition, record) for record in portion.records]
        return [record for _, record in sorted(found, key=lambda each: (each[0], each[1].offset))]


def headers(**values: bytes | None) -> list[Header]:
    return [Header(name=name, value=value) for name, value in values.items()]


@contextmanager
def stubs(address: str, credentials: grpc.ChannelCredentials | None = None, **options: Any) -> Iterator[Stubs]:
    """For the length of the block."""
    given = list(options.items())
    made = (
        grpc.insecure_channel(address, given)
        if credentials is None
        else grpc.secure_channel(address, credentials, given)
    )
    with made as channel:
        yield Stubs(channel)
