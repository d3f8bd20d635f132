"""What docs/operations says of the metrics is true: every metric is listed, every one that is used exists."""

import json
import os
import re
import shutil
import subprocess
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import trio_test

from coordinators.tenants.administration import TenantAdministration
from engine.metrics import Family
from tests.engine.stage.world import client_batch, record
from tests.wire.grpc.checking import check_health
from tests.wire.http.cluster_doors import cluster_doors, create_on
from tests.wire.http.door import Caller, HttpDoor, open_http_door
from tests.wire.kafka.door import Client
from tests.wire.kafka.groups import group_door
from tests.wire.kafka.quotas import bind
from tests.wire.kafka.requests import batch, create_topic, produced
from tests.wire.kafka.sharing import ShareMember
from tests.wire.kafka.transacting import Producer
from wire.http.routing import load_routes
from wire.kafka.messages.sasl_handshake import SaslHandshakeRequest

ROOT = Path(__file__).resolve().parent.parent
OPERATIONS = ROOT / "docs" / "operations"

NAME = re.compile(r"\btidegate_\w+")


async def families(data_dir: Path) -> list[tuple[Family, set[str]]]:
    """Every family of a broker that has something of everything, with the labels it uses."""
    settings: dict[str, Any] = {
        "http.port": -1,
        "grpc.port": -1,
        "text.port": -1,
        "registry.port": -1,
        "transaction.state.log.num.partitions": 1,
        "listeners": "PLAINTEXT://127.0.0.1:0,SASL_PLAINTEXT://127.0.0.1:0",
    }
    async with group_door(data_dir, **settings) as door:
        await _login_in_vain(door.door.broker.listeners[1].address)
        await produced(door.client, "t", batch())
        await produced(door.client, "nothing", batch())
        await produced(door.client, "t", client_batch([record("held", delay=3_600_000)]))
        await produced(door.client, "t", client_batch([record("refused", delay="soon")]))
        await door.commit(0)
        await door.door.broker.node.services[TenantAdministration].create("acme")
        await Producer(door.client).init()
        topic_id = door.door.broker.node.topics.by_name["t"].topic_id
        worker = ShareMember(await door.door.connect(), topic_id, group_id="workers")
        await worker.take()
        await produced(door.client, "t", batch())
        with trio.fail_after(30):
            while not await worker.take():
                await trio.lowlevel.checkpoint()
        await bind(door.client, {"client-id": "test"}, producer_byte_rate=1)
        await produced(door.client, "t", batch())
        await HttpDoor(door.door).get("/health")
        await check_health(door.door.broker.grpc_address or "")
        await _ask_registry(door.door.broker.registry_address or "")
        metrics = door.door.broker.metrics
        await trio.to_thread.run_sync(metrics.prepare)
        found = [(family, _labels(family)) for family in metrics.families()]
    in_cluster = await _in_cluster(data_dir / "cluster")
    return [(family, labels | in_cluster.get(family.name, set())) for family, labels in found]


async def _in_cluster(data_dir: Path) -> dict[str, set[str]]:
    """The labels of those that only several nodes have."""
    async with cluster_doors(data_dir) as doors:
        await create_on(await doors[1].connect(), "t", (1, 2))
        metrics = doors[1].broker.metrics
        await trio.to_thread.run_sync(metrics.prepare)
        return {family.name: _labels(family) for family in metrics.families()}


def _labels(family: Family) -> set[str]:
    return {label for sample in family.samples for label in sample.labels if label != "le"}


async def _ask_registry(address: str) -> None:
    host, port = address.rsplit(":", 1)
    async with await trio.open_tcp_stream(host, int(port)) as stream:
        assert (await Caller(stream).ask("GET", "/subjects")).status == 200


async def _login_in_vain(address: str) -> None:
    host, port = address.rsplit(":", 1)
    client = Client(await trio.open_tcp_stream(host, int(port)))
    await client.ask(SaslHandshakeRequest("UNKNOWN"), 1)
    await client.stream.aclose()


async def told(data_dir: Path) -> list[str]:
    """The rows of the table in docs/operations/metrics.md as the code has them."""
    return sorted(
        f"| `{family.name}` | {family.kind} | {', '.join(sorted(labels))} | {family.meaning} |"
        for family, labels in await families(data_dir)
    )


@trio_test
async def test_every_metric_is_listed_as_the_code_has_it(tmp_path: Path) -> None:
    rows = (OPERATIONS / "metrics.md").read_text().splitlines()
    assert [row for row in rows if row.startswith("| `tidegate_")] == await told(tmp_path)


def _series(family: Family) -> set[str]:
    suffixes = ("_bucket", "_sum", "_count") if family.kind == "histogram" else ("",)
    return {family.name + suffix for suffix in suffixes}


def expressions(document: Any) -> list[str]:
    """Every `expr` in a dashboard."""
    if isinstance(document, dict):
        own = [document["expr"]] if "expr" in document else []
        return own + [found for value in document.values() for found in expressions(value)]
    if isinstance(document, list):
        return [found for value in document for found in expressions(value)]
    return []


def used() -> dict[str, set[str]]:
    dashboard = json.loads((OPERATIONS / "dashboard.json").read_text())
    alerts = (OPERATIONS / "alerts.yml").read_text()
    return {
        "dashboard.json": set(NAME.findall("\n".join(expressions(dashboard)))),
        "alerts.yml": set(NAME.findall(alerts)),
    }


@trio_test
async def test_every_metric_of_the_dashboard_and_the_alerts_exists(tmp_path: Path) -> None:
    there = {name for family, _ in await families(tmp_path) for name in _series(family)}
    for file, names in used().items():
        assert names, f"{file} names no metric"
        assert names - there == set(), file


def test_the_alerts_cover_what_must_wake_somebody() -> None:
    names = set(re.findall(r"alert: (\w+)", (OPERATIONS / "alerts.yml").read_text()))
    assert {"TidegateLagGrows", "TidegateDiskAlmostFull", "TidegateTransactionStuck", "TidegateErrors"} <= names


def test_every_alert_has_its_part_in_the_runbook() -> None:
    names = re.findall(r"alert: (\w+)", (OPERATIONS / "alerts.yml").read_text())
    assert re.findall(r"^### (Tidegate\w+)$", (OPERATIONS / "runbook.md").read_text(), re.MULTILINE) == names


def test_every_route_is_listed() -> None:
    listed = set(re.findall(r"^\| `([A-Z]+ /\S*)` \|", (OPERATIONS / "http.md").read_text(), re.MULTILINE))
    assert listed == {f"{route.method} {route.path}" for route in load_routes()}


def promtool(*arguments: str, given: bytes = b"") -> None:
    """Run promtool; fails with what it finds."""
    found = shutil.which("promtool", path=f"{ROOT / '.cache' / 'promtool'}{os.pathsep}{os.environ['PATH']}")
    if found is None:
        pytest.skip("promtool is not here (make setup fetches it where it can be had; Debian: prometheus)")
    done = subprocess.run(
        [found, *arguments], cwd=OPERATIONS, input=given, capture_output=True, timeout=60, check=False
    )
    assert done.returncode == 0, (done.stdout + done.stderr).decode()


def test_promtool_finds_nothing_wrong_with_the_rules() -> None:
    promtool("check", "rules", "alerts.yml")


def test_the_rules_alert_when_they_should() -> None:
    promtool("test", "rules", "alerts_test.yml")


@trio_test
async def test_promtool_finds_nothing_wrong_with_a_scrape(tmp_path: Path) -> None:
    async with open_http_door(tmp_path) as door:
        client = await door.connect()
        await create_topic(client, "t")
        await produced(client, "t", batch())
        scrape = (await door.ask("GET", "/metrics")).body
    await trio.to_thread.run_sync(partial(promtool, "check", "metrics", given=scrape))


def test_the_runbook_names_metrics_keys_and_commands_that_there_are() -> None:
    page = (OPERATIONS / "runbook.md").read_text()
    metrics = set(NAME.findall((OPERATIONS / "metrics.md").read_text()))
    assert set(NAME.findall(page)) <= metrics
    keys = set(re.findall(r"^\| `([a-z][a-z.]+)` \|", (ROOT / "docs" / "configuration.md").read_text(), re.MULTILINE))
    named = set(re.findall(r"`([a-z]+(?:\.[a-z]+){2,})`", page))
    of_clients = {"auto.offset.reset", "group.instance.id", "max.poll.interval.ms", "transaction.timeout.ms"}
    assert named - keys == of_clients
    commands = (ROOT / "docs" / "cli.md").read_text()
    for command in set(re.findall(r"tidegate ((?:topic|group|share|cluster|txn|user|log|pending) [a-z-]+)", page)):
        assert f"tidegate {command}" in commands, command
