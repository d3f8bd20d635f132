"""The compose files: every node in them starts by the broker's own rules, and nothing but this machine reaches them."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tidegate.config import BrokerConfig

FOLDER = Path(__file__).resolve().parents[2] / "deploy" / "compose"
FILES = ("one-node.yaml", "three-nodes.yaml")
ETCD_ENDPOINTS = "TIDEGATE_ETCD_ENDPOINTS"


def services(name: str) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = yaml.safe_load((FOLDER / name).read_text())["services"]
    return found


def nodes(name: str) -> dict[str, dict[str, Any]]:
    return {service: body for service, body in services(name).items() if body["image"] == "tidegate"}


def environment(body: dict[str, Any]) -> dict[str, str]:
    return {name: re.sub(r"\$\{.*\}", "given", value) for name, value in body["environment"].items()}


@pytest.mark.parametrize("name", FILES)
def test_every_node_has_keys_that_the_broker_knows(name: str) -> None:
    for body in nodes(name).values():
        BrokerConfig.load(environment=environment(body))


@pytest.mark.parametrize("name", FILES)
def test_nothing_is_published_beyond_this_machine(name: str) -> None:
    published = [port for body in services(name).values() for port in body.get("ports", ())]
    assert published
    assert all(port.startswith("127.0.0.1:") for port in published)


@pytest.mark.parametrize("name", FILES)
def test_clients_are_told_the_port_that_is_published(name: str) -> None:
    for body in nodes(name).values():
        config = BrokerConfig.load(environment=environment(body))
        outside = next(each for each in config.advertised_listeners if each.host == "127.0.0.1")
        bound = next((each.port for each in config.listeners if each.name == outside.name), 9092)
        assert f"127.0.0.1:{outside.port}:{bound}" in body["ports"]


def test_the_three_nodes_are_of_one_cluster_and_reach_each_other_by_their_names() -> None:
    found = nodes("three-nodes.yaml")
    configs = {service: BrokerConfig.load(environment=environment(body)) for service, body in found.items()}
    assert {config.node_id for config in configs.values()} == {1, 2, 3}
    for service, config in configs.items():
        inside = next(each for each in config.advertised_listeners if each.name == "INSIDE")
        assert inside.host == service
    hosts = re.findall(r"//([\w-]+):2379", ",".join(configs["node-1"].settings.items("etcd.endpoints")))
    assert len(hosts) == 3
    assert set(hosts) <= services("three-nodes.yaml").keys()


def test_prometheus_scrapes_every_node_and_knows_the_rules() -> None:
    scraped = yaml.safe_load((FOLDER / "prometheus.yaml").read_text())
    (job,) = scraped["scrape_configs"]
    assert job["job_name"] == "tidegate"  # the alert rules name it
    assert job["static_configs"] == [{"targets": [f"{service}:8080" for service in nodes("three-nodes.yaml")]}]
    mounted = services("three-nodes.yaml")["prometheus"]["volumes"]
    for volume in mounted:
        source = volume.split(":")[0]
        assert not source.startswith(".") or (FOLDER / source).resolve().is_file(), source
