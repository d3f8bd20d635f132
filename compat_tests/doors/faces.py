"""One face for every door: write a record, read a partition from its beginning.

To add a door: write its class below, with `write` or `read` or both, and name it in `WRITERS` or `READERS`. The table
(`test_cross_table.py`) then has it in every row or column.
"""

import json
import socket
import urllib.request
from base64 import b64decode, b64encode
from collections.abc import Sequence
from typing import Any, Protocol
from urllib.parse import quote, unquote_to_bytes

from attrs import field, frozen
from confluent_kafka import Consumer, Producer, TopicPartition

from tidegate.client import Client
from tidegate.testing import RunningBroker

PATIENCE_S = 30.0
V2 = "application/vnd.kafka.v2+json"
BINARY = "application/vnd.kafka.binary.v2+json"
Header = tuple[str, bytes]


@frozen
class Item:
    """A record as every door should tell it."""

    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...] = ()
    asks: tuple[Header, ...] = field(default=(), eq=False)
    """Headers by which it asks for something; readers need not see them again."""

    @property
    def all_headers(self) -> tuple[Header, ...]:
        """What a writer sends."""
        return (*self.headers, *self.asks)


class Writer(Protocol):
    """Writes by a door."""

    def write(self, broker: RunningBroker, topic: str, item: Item) -> None:
        """To partition 0; it is durable afterwards."""


class Reader(Protocol):
    """Reads by a door."""

    def read(self, broker: RunningBroker, topic: str, count: int) -> list[Item]:
        """The first records of partition 0; waits for them."""


def _plain(headers: Sequence[tuple[str, bytes | None]]) -> tuple[Header, ...]:
    """Without what the broker has to say."""
    return tuple((name, value or b"") for name, value in headers if not name.startswith(("tide-", "__tide-")))


class KafkaDoor:
    """confluent-kafka."""

    def write(self, broker: RunningBroker, topic: str, item: Item) -> None:
        producer = Producer({"bootstrap.servers": broker.bootstrap})
        producer.produce(topic, key=item.key, value=item.value, headers=list(item.all_headers), partition=0)
        assert producer.flush(PATIENCE_S) == 0

    def read(self, broker: RunningBroker, topic: str, count: int) -> list[Item]:
        settings = {"bootstrap.servers": broker.bootstrap, "group.id": "none", "enable.auto.commit": False}
        consumer = Consumer(settings)
        try:
            consumer.assign([TopicPartition(topic, 0, 0)])
            found = []
            while len(found) < count:
                message = consumer.poll(PATIENCE_S)
                assert message is not None, f"{len(found)} of {count} records came"
                assert message.error() is None, message.error()
                found.append(Item(message.key(), message.value(), _plain(message.headers() or [])))
            return found
        finally:
            consumer.close()


class TextDoor:
    """A plain socket."""

    def write(self, broker: RunningBroker, topic: str, item: Item) -> None:
        options = ["partition=0"]
        if item.key is not None:
            options.append(f"key={quote(item.key)}")
        if item.value is None:
            options.append("null=true")
        options += [f"header.{quote(name)}={quote(value)}" for name, value in item.all_headers]
        value = item.value or b""
        line = f"PUB {topic} {len(value)} {' '.join(options)}\r\n".encode()
        with self._connected(broker) as sock:
            sock.sendall(line + value + b"\r\n")
            answer = sock.makefile("rb").readline()
        assert answer.startswith(b"OK "), answer

    def read(self, broker: RunningBroker, topic: str, count: int) -> list[Item]:
        found: list[Item] = []
        with self._connected(broker) as sock:
            lines = sock.makefile("rb")
            offset = 0
            while len(found) < count:
                sock.sendall(f"FETCH {topic} {offset} wait=10000 full=true\r\n".encode())
                words = lines.readline().split()
                assert words[0] in (b"MSG", b"END"), words
                if words[0] == b"MSG":
                    offset, size = int(words[1]) + 1, int(words[2])
                    value = lines.read(size + 2)[:size]
                    found.append(self._item(words[3:], value))
        return found

    def _item(self, options: Sequence[bytes], value: bytes) -> Item:
        key, headers, is_null = None, [], False
        for option in options:
            name, _, text = option.partition(b"=")
            if name == b"key":
                key = unquote_to_bytes(text)
            elif name == b"null":
                is_null = True
            elif name.startswith(b"header."):
                headers.append((unquote_to_bytes(name[len(b"header.") :]).decode(), unquote_to_bytes(text)))
        return Item(key, None if is_null else value, _plain(headers))

    def _connected(self, broker: RunningBroker) -> socket.socket:
        host, port = broker.text_address.rsplit(":", 1)
        return socket.create_connection((host, int(port)), PATIENCE_S)


def ask(broker: RunningBroker, method: str, path: str, document: Any = None, kind: str = V2) -> Any:
    """A call of the HTTP door."""
    body = None if document is None else json.dumps(document).encode()
    url = path if path.startswith("http") else broker.http_url + path
    request = urllib.request.Request(url, body, {"Content-Type": kind, "X-Tidegate": "1"}, method=method)
    with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
        said = answer.read()
    return json.loads(said) if said else None


def _base64(data: bytes | None) -> str | None:
    return None if data is None else b64encode(data).decode()


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else b64decode(text)


class HttpDoor:
    """Tidegate's own paths."""

    def write(self, broker: RunningBroker, topic: str, item: Item) -> None:
        headers = [{"name": name, "valueBase64": _base64(value)} for name, value in item.all_headers]
        record = {
            "keyBase64": _base64(item.key),
            "valueBase64": _base64(item.value),
            "headers": headers,
            "partition": 0,
        }
        answer = ask(broker, "POST", f"/topics/{topic}/messages", record, "application/json")
        assert answer["failed"] == 0, answer

    def read(self, broker: RunningBroker, topic: str, count: int) -> list[Item]:
        found: list[Item] = []
        offset = "earliest"
        while len(found) < count:
            query = f"offset={offset}&format=base64&wait=5000&limit={count - len(found)}"
            answer = ask(broker, "GET", f"/topics/{topic}/partitions/0/messages?{query}")
            offset = quote(answer["next"])
            found += [self._item(each) for each in answer["messages"]]
        return found

    def _item(self, found: dict[str, Any]) -> Item:
        headers = [(each["name"], self._data(each, "value")) for each in found["headers"]]
        return Item(self._data(found, "key"), self._data(found, "value"), _plain(headers))

    def _data(self, found: dict[str, Any], name: str) -> bytes | None:
        text = found.get(name)
        return text.encode() if isinstance(text, str) else _bytes(found.get(f"{name}Base64"))


class RestV2Door:
    """Confluent's REST v2 with Strimzi's headers, by urllib."""

    def write(self, broker: RunningBroker, topic: str, item: Item) -> None:
        headers = [{"key": name, "value": _base64(value)} for name, value in item.all_headers]
        record = {"key": _base64(item.key), "value": _base64(item.value), "headers": headers}
        answer = ask(broker, "POST", f"/topics/{topic}/partitions/0", {"records": [record]}, BINARY)
        assert answer["offsets"][0]["error_code"] is None, answer

    def read(self, broker: RunningBroker, topic: str, count: int) -> list[Item]:
        settings = {"auto.offset.reset": "earliest", "auto.commit.enable": "false"}
        uri = ask(broker, "POST", f"/consumers/table-{topic}", settings)["base_uri"]
        found: list[Item] = []
        try:
            ask(broker, "POST", f"{uri}/assignments", {"partitions": [{"topic": topic, "partition": 0}]})
            while len(found) < count:
                for each in ask(broker, "GET", f"{uri}/records?timeout=5000"):
                    headers = [(header["key"], _bytes(header["value"])) for header in each["headers"]]
                    found.append(Item(_bytes(each["key"]), _bytes(each["value"]), _plain(headers)))
        finally:
            ask(broker, "DELETE", uri)
        return found


class RestV3Door:
    """Confluent's REST v3, which writes only."""

    def write(self, broker: RunningBroker, topic: str, item: Item) -> None:
        cluster = ask(broker, "GET", "/v3/clusters")["data"][0]["cluster_id"]
        record: dict[str, Any] = {
            "partition_id": 0,
            "headers": [{"name": name, "value": _base64(value)} for name, value in item.all_headers],
        }
        for name, data in (("key", item.key), ("value", item.value)):
            if data is not None:
                record[name] = {"type": "BINARY", "data": _base64(data)}
        answer = ask(broker, "POST", f"/v3/clusters/{cluster}/topics/{topic}/records", record, "application/json")
        assert answer["error_code"] == 200, answer


class GrpcDoor:
    """tidegate.client, over gRPC."""

    def write(self, broker: RunningBroker, topic: str, item: Item) -> None:
        with Client(broker.grpc_address) as client, client.producer(linger_ms=0) as producer:
            headers = list(item.all_headers)
            producer.send(topic, item.value, key=item.key, headers=headers, partition=0).result(PATIENCE_S)

    def read(self, broker: RunningBroker, topic: str, count: int) -> list[Item]:
        found: list[Item] = []
        with Client(broker.grpc_address) as client:
            for record in client.read(topic, partitions=[0]):
                found.append(Item(record.key, record.value, _plain(record.headers)))
                if len(found) == count:
                    break
        return found


WRITERS: dict[str, Writer] = {
    "kafka": KafkaDoor(),
    "http": HttpDoor(),
    "grpc": GrpcDoor(),
    "text": TextDoor(),
    "rest-v2": RestV2Door(),
    "rest-v3": RestV3Door(),
}
READERS: dict[str, Reader] = {
    "kafka": KafkaDoor(),
    "http": HttpDoor(),
    "grpc": GrpcDoor(),
    "text": TextDoor(),
    "rest-v2": RestV2Door(),
}
