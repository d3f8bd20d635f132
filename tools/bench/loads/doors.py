"""The other doors: records written and read over HTTP, gRPC and lines, and followed by a thousand readers."""

import json
import subprocess
import sys

from tools.bench.clients import PATIENCE_S, LoadFailed
from tools.bench.figures import Figures
from tools.bench.nats import nats_server
from tools.bench.processes import cpu_s
from tools.bench.trial import Trial

TOPIC, WARM = "doors", "warm"
DOORS = {"grpc.port": "-1", "text.port": "-1"}
"""The settings of a row that goes by them."""
FILLS = {"http-read": "http-batch", "grpc-read": "grpc-stream", "text-fetch": "text-publish"}
"""What is read is written before, which is not measured."""
WARM_UP = 200


def through(trial: Trial, load: str, records: int, size: int, partitions: int = 1) -> Figures:
    """One load through its door; the first requests, for which a door is loaded, do not count."""
    records = trial.scaled(records, least=WARM_UP if load != "sse" else 1)
    trial.topics({TOPIC: partitions, WARM: partitions})
    if load != "sse":
        if load in FILLS:
            _run(trial, FILLS[load], WARM, WARM_UP, size)
            _run(trial, FILLS[load], TOPIC, records, size)
        _run(trial, load, WARM, WARM_UP, size)
    with trial.measured() as meter:
        found = _run(trial, load, TOPIC, records, size)
    return meter.figures(found)


def beside_nats(trial: Trial, records: int, size: int) -> Figures:
    """Lines written, and the same to NATS' server, which keeps nothing; without the latter where it cannot be had."""
    figures = through(trial, "text-publish", records, size)
    with nats_server() as server:
        if server is None:
            return figures
        before = cpu_s(server.pid)
        found = _client("nats-publish", server.address, TOPIC, trial.scaled(records, least=WARM_UP), size)
        peer = (cpu_s(server.pid) - before) / found["records"] * 1000
    return figures | {"nats_per_s": found["records_per_s"], "nats_cpu_s_per_1000": peer}


def _run(trial: Trial, load: str, topic: str, records: int, size: int) -> Figures:
    door = "grpc" if load.startswith("grpc") else "text" if load.startswith("text") else "http"
    return _client(load, trial.subject.doors[door], topic, records, size)


def _client(load: str, address: str, topic: str, records: int, size: int) -> Figures:
    command = [sys.executable, "-m", "tools.bench.door_client", load, address, topic, str(records), str(size)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    if done.returncode != 0:
        raise LoadFailed(f"{load} ended with status {done.returncode}: {done.stderr.strip()[-800:]}")
    found: Figures = json.loads(done.stdout)
    if found["records"] < records:
        raise LoadFailed(f"{load}: {found['records']:g} of {records} records")
    return found
