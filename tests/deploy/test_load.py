"""The load script of the gRPC door: what it has ghz send is what the proto files know. `ghz` is a stand-in here, which
keeps what it is asked."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from google.protobuf.json_format import Parse

from wire.grpc.messages.consume_pb2 import ReadRequest
from wire.grpc.messages.produce_pb2 import SendRequest

SCRIPT = Path(__file__).resolve().parents[2] / "deploy" / "load" / "ghz.sh"
GHZ = """#!/bin/sh
number=$(ls "{folder}" | grep -c asked)
echo "$*" > "{folder}/asked-$number"
while [ "$1" != --data-file ]; do [ "$1" = --total ] && total=$2; shift; done
cp "$2" "{folder}/data-$number"
echo "  [{word}]   $total responses"
"""


def run(folder: Path, word: str = "OK", **variables: str) -> "subprocess.CompletedProcess[str]":
    stand_in = folder / "ghz"
    stand_in.write_text(GHZ.format(folder=folder, word=word))
    stand_in.chmod(0o755)
    told = {"PATH": f"{folder}:{os.environ['PATH']}", **variables}
    return subprocess.run(["sh", str(SCRIPT)], env=told, capture_output=True, text=True, timeout=60, check=False)


def test_what_is_sent_is_what_the_door_knows(tmp_path: Path) -> None:
    done = run(tmp_path, TOPIC="t", CALLS="40", BATCH="3", SIZE="5", CLIENTS="2")
    assert done.returncode == 0, done.stderr
    calls = [(tmp_path / f"asked-{number}").read_text() for number in range(3)]
    send, stream, read = ((tmp_path / f"data-{number}").read_text() for number in range(3))
    assert "--call tidegate.v1.Produce.Send --total 40 --concurrency 2" in calls[0]
    request = Parse(send, SendRequest())
    assert (request.topic, [each.value for each in request.records]) == ("t", [b"xxxxx"] * 3)
    assert "--call tidegate.v1.Produce.SendStream --total 4" in calls[1]
    assert [Parse(json.dumps(each), SendRequest()) for each in json.loads(stream)] == [request] * 10
    assert "--call tidegate.v1.Consume.Read --total 2" in calls[2]
    wanted = Parse(read, ReadRequest())
    assert (wanted.topic, wanted.until_end) == ("t", True)
    assert all("--insecure" in each and each.strip().endswith("127.0.0.1:9095") for each in calls)


def test_it_shows_who_calls(tmp_path: Path) -> None:
    assert run(tmp_path, ADDRESS="broker:1", CA="ca.pem", TOKEN="secret").returncode == 0
    asked = (tmp_path / "asked-0").read_text()
    assert '--cacert ca.pem --metadata {"authorization":"Bearer secret"} broker:1' in asked


@pytest.mark.parametrize("word", ["Unavailable", "PermissionDenied"])
def test_calls_that_fail_end_it(tmp_path: Path, word: str) -> None:
    done = run(tmp_path, word)
    assert done.returncode == 1
    assert "not all of them ended with OK" in done.stderr
    assert not (tmp_path / "asked-1").exists()
