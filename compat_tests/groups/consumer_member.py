"""A member of the new consumer protocol by hand: its heartbeats one by one, in kio's messages."""

import io
import struct
import time
import uuid
from datetime import timedelta
from importlib import import_module
from typing import Any

from attrs import define, field
from kio.serial import entity_reader, entity_writer
from kio.static.primitive import i32Timedelta

from compat_tests.groups.member import NOT_YET, PATIENCE_SECONDS
from compat_tests.wire.connection import Wire

CLIENT_ID = "compat"
HEARTBEAT, DESCRIBE = "consumer_group_heartbeat", "consumer_group_describe"
Owned = dict[uuid.UUID, list[int]]


def ask(wire: Wire, api: str, version: int, name: str, **fields: Any) -> Any:
    """One request of a flexible API by its name, and its answer."""
    schema = import_module(f"kio.schema.{api}.v{version}.request")
    request = getattr(schema, f"{name}Request")(**fields)
    body = io.BytesIO()
    entity_writer(type(request))(body, request)
    client = CLIENT_ID.encode()
    header = struct.pack(">hhih", int(request.__api_key__), version, 7, len(client)) + client + b"\x00"
    wire.send_frame(header + body.getvalue())
    frame = wire.receive_frame()
    assert frame[:5] == struct.pack(">ib", 7, 0)
    response = getattr(import_module(f"kio.schema.{api}.v{version}.response"), f"{name}Response")
    answer, size = entity_reader(response)(frame, 5)
    assert 5 + size == len(frame), "the answer holds bytes that its schema does not"
    return answer


@define(eq=False)
class ConsumerMember:
    """One member on a connection of its own; remembers its epoch and what it was given."""

    bootstrap: str
    group: str
    member_id: str = field(factory=lambda: str(uuid.uuid4()))
    instance: str | None = None
    version: int = 1
    epoch: int = 0
    owned: Owned = field(factory=dict)
    wire: Wire = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.wire = Wire(self.bootstrap).__enter__()

    def close(self) -> None:
        self.wire.__exit__(None, None, None)

    def join(self, *topics: str, **changes: Any) -> Any:
        self.epoch, self.owned = 0, {}
        timeout = i32Timedelta.parse(timedelta(milliseconds=changes.pop("rebalance_ms", 30_000)))
        given = {"subscribed_topic_names": topics, "topic_partitions": (), "rebalance_timeout": timeout, **changes}
        return self.beat(**given)

    def beat(self, epoch: int | None = None, **fields: Any) -> Any:
        """A heartbeat; takes over what the answer says. Asks again while the coordinator is not there."""
        given = {"topic_partitions": None, "instance_id": self.instance, **fields}
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            answer = ask(
                self.wire,
                HEARTBEAT,
                self.version,
                "ConsumerGroupHeartbeat",
                group_id=self.group,
                member_id=self.member_id,
                member_epoch=self.epoch if epoch is None else epoch,
                **given,
            )
            if int(answer.error_code) not in NOT_YET or time.monotonic() > deadline:
                break
            time.sleep(0.1)
        if int(answer.error_code) == 0:
            self._take(answer)
        return answer

    def _take(self, answer: Any) -> None:
        self.epoch, self.member_id = int(answer.member_epoch), answer.member_id
        if answer.assignment is not None:
            self.owned = {
                each.topic_id: [int(partition) for partition in each.partitions]
                for each in answer.assignment.topic_partitions
            }

    def report(self) -> Any:
        """A heartbeat that says what it owns."""
        schema = import_module(f"kio.schema.{HEARTBEAT}.v{self.version}.request")
        owned = tuple(schema.TopicPartitions(topic_id=topic, partitions=tuple(at)) for topic, at in self.owned.items())
        return self.beat(topic_partitions=owned)

    def leave(self, epoch: int = -1) -> Any:
        return self.beat(epoch=epoch)

    @property
    def partitions(self) -> list[int]:
        """What it has, of whatever topic."""
        return sorted(partition for partitions in self.owned.values() for partition in partitions)

    def described(self, version: int = 1) -> Any:
        """The group, as administrators see it."""
        answer = ask(
            self.wire,
            DESCRIBE,
            version,
            "ConsumerGroupDescribe",
            group_ids=(self.group,),
            include_authorized_operations=False,
        )
        return answer.groups[0]
