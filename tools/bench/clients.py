"""Runs the load generators as processes of their own: Kafka's Java tools, and the native one, built on first use."""

import functools
import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from attrs import frozen

from tools.bench.figures import Figures
from tools.reference.java import java_command

SOURCE = Path(__file__).resolve().parent / "native"
BINARY = Path(__file__).resolve().parents[2] / "build" / "bench" / "loadgen"
AUTHORITY = "LOADGEN_AUTHORITY"
PATIENCE_S = 900.0
JAVA_OPTIONS = ("-server", "-Xmx512m", "-XX:+UseG1GC")
_PRODUCED = re.compile(
    r"(\d+) records sent, ([\d.]+) records/sec .*? ms avg latency, [\d.]+ ms max latency"
    r"(?:, (\d+) ms 50th, \d+ ms 95th, (\d+) ms 99th, (\d+) ms 99.9th)"
)
_PERCENTILES = re.compile(r"Percentiles: 50th = ([\d.]+), 99th = ([\d.]+), 99.9th = ([\d.]+)")


class LoadFailed(Exception):
    """A load generator did not do its work; the message holds what it said."""


@frozen
class Native:
    """The Go program; `available` says whether it is here or can be built."""

    binary: Path = BINARY

    @staticmethod
    def available() -> bool:
        """Whether there is a Go to build it with."""
        return shutil.which("go") is not None

    def build(self) -> Path:
        """Make it from its sources, once per process: it must not happen within a measurement."""
        return _built(self.binary)

    def run(self, load: str, bootstrap: str, **options: object) -> Figures:
        """One load to its end: what it measured."""
        return self.run_over(None, load, bootstrap, options)

    def run_over(self, authority: Path | None, load: str, bootstrap: str, options: Mapping[str, object]) -> Figures:
        """The same over TLS, with a broker that this authority vouches for; over a plain connection if it is None."""
        command = [str(self.build()), load, "-address", bootstrap]
        for name, value in options.items():
            command += [f"-{name.replace('_', '-')}", str(value)]
        told = {} if authority is None else {AUTHORITY: str(authority)}
        found: Figures = json.loads(_run(command, told))
        return found


native = Native()


@functools.cache
def _built(binary: Path) -> Path:
    if not Native.available():
        raise LoadFailed("go is not on the PATH: the native load generator needs Go 1.26 or later (go.dev/dl)")
    binary.parent.mkdir(parents=True, exist_ok=True)
    _run(["go", "build", "-C", str(SOURCE), "-o", str(binary), "."])
    return binary


def producer_performance(
    bootstrap: str, topic: str, records: int, size: int, settings: dict[str, str], *options: str
) -> Figures:
    """Kafka's own producer benchmark."""
    output = _java(
        "ProducerPerformance",
        *("--topic", topic, "--num-records", str(records), "--record-size", str(size), "--throughput", "-1"),
        *options,
        *("--command-property", f"bootstrap.servers={bootstrap}"),
        *(f"{name}={value}" for name, value in {"acks": "all", **settings}.items()),
    )
    found = _PRODUCED.findall(output)
    if not found or int(found[-1][0]) != records:
        raise LoadFailed(f"ProducerPerformance did not send {records} records: {output[-500:]}")
    rate, *latencies = map(float, found[-1][1:])
    figures = {"records": float(records), "records_per_s": rate, "seconds": records / rate}
    return figures | dict(zip(("p50_ms", "p99_ms", "p999_ms"), latencies, strict=True))


def consumer_performance(bootstrap: str, topic: str, records: int) -> Figures:
    """Kafka's own consumer benchmark; the time is that of fetching, without joining the group."""
    output = _java(
        "ConsumerPerformance",
        *("--bootstrap-server", bootstrap, "--topic", topic, "--num-records", str(records), "--hide-header"),
    )
    values = [value.strip() for value in output.strip().splitlines()[-1].split(",")]
    # start, end, MB, MB/s, records, records/s, rebalance ms, fetch ms, fetch MB/s, fetch records/s
    if len(values) != 10 or int(values[4]) < records:
        raise LoadFailed(f"ConsumerPerformance did not read {records} records: {output[-500:]}")
    return {"records": float(values[4]), "records_per_s": float(values[9]), "seconds": float(values[7]) / 1000}


def share_consumer_performance(bootstrap: str, topic: str, group: str, records: int) -> Figures:
    """Kafka's own benchmark of share consumers."""
    output = _java(
        "ShareConsumerPerformance",
        *("--bootstrap-server", bootstrap, "--topic", topic, "--group", group),
        *("--num-records", str(records), "--timeout", "60000", "--hide-header"),
    )
    values = [value.strip() for value in output.strip().splitlines()[-1].split(",")]
    # start, end, MB, MB/s, records/s, records, fetch ms
    if len(values) != 7 or int(values[5]) < records:
        raise LoadFailed(f"ShareConsumerPerformance did not read {records} records: {output[-500:]}")
    return {"records": float(values[5]), "records_per_s": float(values[4]), "seconds": float(values[6]) / 1000}


def end_to_end_latency(bootstrap: str, topic: str, records: int, size: int) -> Figures:
    """Kafka's own round trips, one record at a time."""
    output = _java("EndToEndLatency", bootstrap, topic, str(records), "all", str(size))
    found = _PERCENTILES.search(output)
    if found is None:
        raise LoadFailed(f"EndToEndLatency printed no percentiles: {output[-500:]}")
    p50, p99, p999 = map(float, found.groups())
    return {"records": float(records), "p50_ms": p50, "p99_ms": p99, "p999_ms": p999}


def _java(tool: str, *arguments: str) -> str:
    return _run(java_command(tool, *arguments, options=JAVA_OPTIONS))


def _run(command: list[str], told: dict[str, str] | None = None) -> str:
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
            stdin=subprocess.DEVNULL,
            env={**os.environ, **(told or {})},
        )
    except subprocess.TimeoutExpired as error:
        raise LoadFailed(f"{Path(command[0]).name} was not done after {PATIENCE_S:g} s") from error
    if done.returncode != 0:
        said = (done.stderr.strip() or done.stdout.strip())[-800:]
        raise LoadFailed(f"{Path(command[0]).name} ended with status {done.returncode}: {said}")
    return done.stdout
