"""Files of settings: JSON beside TOML, and what stands in short there."""

import json
from pathlib import Path

import pytest

from engine.errors import InvalidConfig
from tidegate.config import BrokerConfig
from wire.kafka.listeners import Listener


def loaded(directory: Path, document: object) -> BrokerConfig:
    path = directory / "config.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return BrokerConfig.load(file=path)


def test_host_port_and_storage_are_enough(tmp_path: Path) -> None:
    config = loaded(tmp_path, {"host": "127.0.0.2", "port": 19092, "storage": "store"})
    assert config.listeners == (Listener("PLAINTEXT", "127.0.0.2", 19092),)
    assert config.data_directory == Path("store")


def test_each_of_them_may_be_left_out(tmp_path: Path) -> None:
    assert loaded(tmp_path, {"port": 0}).listeners == (Listener("PLAINTEXT", "127.0.0.1", 0),)
    assert loaded(tmp_path, {"host": "::1"}).listeners == (Listener("PLAINTEXT", "::1", 9092),)


def test_further_keys_are_the_brokers(tmp_path: Path) -> None:
    document = {"storage": "d", "num.partitions": 3, "text": {"port": 9094}, "auto.create.topics.enable": False}
    config = loaded(tmp_path, document)
    assert config["num.partitions"] == 3
    assert config["text.port"] == 9094
    assert config["auto.create.topics.enable"] is False
    assert "config.json" in config.origins["log.dirs"]


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ("{", "is not JSON"),
        ("[1]", "an object"),
        ('{"port": 1, "port": 2}', "port twice"),
        ({"port": "9092"}, "port is a number"),
        ({"port": True}, "port is a number"),
        ({"port": 70_000}, "65535"),
        ({"host": 1}, "host is a name"),
        ({"storage": ""}, "storage is a directory"),
        ({"storage": "d", "log.dirs": "e"}, "two ways"),
        ({"port": 1, "listeners": "PLAINTEXT://:1"}, "two ways"),
        ({"colour": 1}, "Unknown configuration colour"),
        ("[" * 100_000, "is not JSON"),
    ],
)
def test_what_cannot_be_is_named(tmp_path: Path, document: object, words: str) -> None:
    with pytest.raises(InvalidConfig, match=words):
        loaded(tmp_path, document)
