"""A client in Go, on stubs made of the proto files by Go's own generators; and grpcurl, by reflection alone."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions
from confluent_kafka.admin import AdminClient

from compat_tests.grpc.stubs import PATIENCE_S, Stubs
from compat_tests.share.asking import prepare_group
from tidegate.client.messages.records_pb2 import NewRecord
from tidegate.testing import RunningBroker
from tools.protos import PROTOS

SOURCE = Path(__file__).parent / "goclient"
FILES = ("records", "produce", "consume")
Go = Callable[[str, str, int], list[list[str]]]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program, made in a directory of its own."""
    if shutil.which("go") is None:
        pytest.skip("no Go on this machine")
    folder = Path(tmp_path_factory.mktemp("goclient"))
    shutil.copytree(SOURCE, folder, dirs_exist_ok=True)
    fetched = subprocess.run(["go", "mod", "download"], cwd=folder, capture_output=True, text=True, check=False)
    if fetched.returncode != 0:
        pytest.skip(f"gRPC for Go cannot be had: {fetched.stderr}")
    _run(folder, "go", "build", "-o", "generators/", "tool")
    _generate(folder)
    _run(folder, "go", "build", "-o", "client", ".")
    return folder / "client"


def _generate(folder: Path) -> None:
    from grpc_tools import protoc

    options = [f"-I{PROTOS}"]
    for name in ("go", "go-grpc"):
        options.append(f"--plugin=protoc-gen-{name}={folder}/generators/protoc-gen-{name}")
        options += [f"--{name}_out={folder}", f"--{name}_opt=module=goclient"]
        options += [f"--{name}_opt=Mtidegate/v1/{each}.proto=goclient/tidegatev1" for each in FILES]
    assert protoc.main(["protoc", *options, *(f"tidegate/v1/{each}.proto" for each in FILES)]) == 0


def _run(folder: Path, *command: str) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def go(program: Path, grpc_broker: RunningBroker, tmp_path: Path) -> Go:
    def run(action: str, topic: str, count: int) -> list[list[str]]:
        told = _run(tmp_path, str(program), grpc_broker.grpc_address, action, topic, str(count))
        return [line.split() for line in told.splitlines()]

    return run


def test_go_writes_by_a_call_and_by_a_stream_and_reads_by_offset(go: Go, door: Stubs, topic_name: str) -> None:
    door.create_topic(topic_name)
    assert go("send", topic_name, 3) == [["7", "0", str(offset)] for offset in range(3)]
    streamed = go("stream", topic_name, 50)
    assert streamed == [[str(each // 2), "0", str(3 + each)] for each in range(100)]
    values = [f"7.{each}" for each in range(3)] + [f"{each // 2}.{each % 2}" for each in range(100)]
    assert go("read", topic_name, 0) == [[str(offset), value, "go"] for offset, value in enumerate(values)]
    assert [record.value for record in door.read_all(topic_name)] == [value.encode() for value in values]


def test_go_is_a_member_of_a_group_which_goes_on_where_it_committed(
    go: Go, door: Stubs, grpc_broker: RunningBroker, topic_name: str
) -> None:
    door.create_topic(topic_name)
    door.write(topic_name, *(NewRecord(value=b"%d" % number) for number in range(5)))
    assert go("group", topic_name, 3) == [[str(number)] * 2 for number in range(3)]
    admin = AdminClient({"bootstrap.servers": grpc_broker.bootstrap})
    asked = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(topic_name)])
    (place,) = asked[topic_name].result(PATIENCE_S).topic_partitions
    assert place.offset == 3
    assert go("group", topic_name, 2) == [[str(number)] * 2 for number in (3, 4)]


def test_go_works_for_a_share_group_and_gets_again_what_it_gave_back(
    go: Go, door: Stubs, grpc_broker: RunningBroker, topic_name: str
) -> None:
    prepare_group(grpc_broker.bootstrap, topic_name)
    door.create_topic(topic_name)
    door.write(topic_name, *(NewRecord(value=b"%d" % number) for number in range(4)))
    told = go("share", topic_name, 8)
    assert told[0] == ["joined"]
    assert sorted(told[1:]) == [[str(number), times] for number in range(4) for times in ("1", "2")]


def _grpcurl(broker: RunningBroker, *words: str, sent: Any = None) -> str:
    program = os.environ.get("GRPCURL") or shutil.which("grpcurl")
    if program is None:
        pytest.skip("no grpcurl here (go install github.com/fullstorydev/grpcurl/cmd/grpcurl@latest; GRPCURL names it)")
    data = [] if sent is None else ["-d", json.dumps(sent)]
    command = [program, "-plaintext", *data, broker.grpc_address, *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout


def test_grpcurl_finds_out_by_itself_what_there_is_and_calls_it(grpc_broker: RunningBroker, topic_name: str) -> None:
    assert {"tidegate.v1.Admin", "tidegate.v1.Consume", "tidegate.v1.Produce"} <= set(
        _grpcurl(grpc_broker, "list").split()
    )
    assert "rpc SendStream ( stream .tidegate.v1.SendRequest )" in _grpcurl(
        grpc_broker, "describe", "tidegate.v1.Produce"
    )
    _grpcurl(grpc_broker, "tidegate.v1.Admin/CreateTopic", sent={"topic": topic_name})
    sent = {"topic": topic_name, "records": [{"value": "aGVsbG8="}]}
    assert json.loads(_grpcurl(grpc_broker, "tidegate.v1.Produce/Send", sent=sent))["offsets"] == ["0"]
    read = _grpcurl(grpc_broker, "tidegate.v1.Consume/Read", sent={"topic": topic_name, "until_end": True})
    assert json.loads(read)["records"][0]["value"] == "aGVsbG8="
