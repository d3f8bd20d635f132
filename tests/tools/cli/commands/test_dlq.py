"""Dead letters from the command line, against a broker."""

import json
from pathlib import Path

import pytest

from tests.tools.cli.conftest import Tidegate, run
from tests.tools.cli.letters import REJECTED, committed_values, eventually, write_letters
from tidegate import testing
from tidegate.testing import RunningBroker
from tools.bench.tenants import free_ports


@pytest.fixture
def letters(tidegate: Tidegate, broker: RunningBroker, topic: str) -> str:
    """A dead-letter topic with six letters of `topic`."""
    name = f"{topic}.dlq"
    assert tidegate("topic", "create", name, "--partitions", "2").code == 0
    write_letters(broker.bootstrap, name, topic, range(6), partitions=2)
    return name


def test_topics_and_letters_are_listed(tidegate: Tidegate, letters: str, topic: str) -> None:
    rows = {row["topic"]: row for row in tidegate("dlq", "list", "-o", "json").data}
    assert rows[letters] == {"topic": letters, "letters": 6, "open": 6, "settled": 0}
    found = tidegate("dlq", "list", letters, "--reason", "rejected", "-o", "json").data
    assert sorted(row["key"] for row in found) == ["k0", "k2", "k4"]
    assert {(row["origin_topic"], row["group"], row["reason"]) for row in found} == {(topic, "mail", REJECTED)}
    shown = tidegate("dlq", "list", letters, "--value", "v[35]")
    assert ("k3" in shown.out, "k5" in shown.out, "k2" in shown.out) == (True, True, False)
    assert tidegate("dlq", "list", letters, "--group", "nobody").out == ""


def test_one_is_shown(tidegate: Tidegate, letters: str) -> None:
    data = tidegate("dlq", "show", letters, "1:0", "-o", "json").data
    assert (data["value"], data["origin_offset"], data["state"]) == ("v1", 1, "open")
    assert {"name": "__dlq.errors.group", "value": "mail"} in data["headers"]
    assert "__dlq.errors.group" in tidegate("dlq", "show", letters, "0").out
    assert tidegate("dlq", "show", letters, "1:99").code == 4
    assert tidegate("dlq", "show", letters, "x").code == 2


def test_a_redrive_sends_each_letter_once(tidegate: Tidegate, broker: RunningBroker, letters: str, topic: str) -> None:
    assert tidegate("dlq", "redrive", letters, "--dry-run", "-o", "json").data["settled"] == 6
    assert tidegate("dlq", "list", letters, "--all", "-o", "json").data[0]["state"] == "open"
    some = tidegate("dlq", "redrive", letters, "--reason", "rejected", "-o", "json").data
    assert some["topics"][0]["by_target"] == [{"to": topic, "reason": REJECTED, "letters": 3}]
    assert committed_values(broker.bootstrap, topic) == ["v0", "v2", "v4"]
    assert tidegate("dlq", "redrive", letters, "-o", "json").data["settled"] == 3
    assert tidegate("dlq", "redrive", letters, "-o", "json").data["settled"] == 0
    assert committed_values(broker.bootstrap, topic) == [f"v{number}" for number in range(6)]
    states = {row["state"] for row in tidegate("dlq", "list", letters, "--all", "-o", "json").data}
    assert states == {"redriven"}


def test_elsewhere_with_other_headers(tidegate: Tidegate, letters: str, topic: str) -> None:
    tidegate("topic", "create", f"{topic}-2", "--partitions", "1")
    changes = ["--transform", "attempt=2", "--transform", "-__redriven.group", "--count", "1", "--key", "k0"]
    assert tidegate("dlq", "redrive", letters, "--to", f"{topic}-2", *changes).code == 0
    record = json.loads(tidegate("consume", f"{topic}-2", "-e", "-o", "json").out)
    headers = {each["name"]: each["value"] for each in record["headers"]}
    assert (record["key"], headers["attempt"], headers["__redriven.count"]) == ("k0", "2", "1")
    assert headers["__redriven.source"] == f"{letters}-0@0"
    assert "__redriven.group" not in headers


def test_what_cannot_be_sent_stays(tidegate: Tidegate, letters: str, topic: str) -> None:
    tidegate("topic", "delete", topic, "--yes")
    ended = tidegate("dlq", "redrive", letters)
    assert (ended.code, "6 letters could not be sent" in ended.err) == (1, True)
    assert tidegate("dlq", "redrive", letters, "--to", letters).code == 1
    assert len(tidegate("dlq", "list", letters, "-o", "json").data) == 6


def test_discarded_letters_are_not_sent(tidegate: Tidegate, broker: RunningBroker, letters: str, topic: str) -> None:
    assert tidegate("dlq", "discard", letters, "--reason", "rejected").code == 2
    assert tidegate("dlq", "discard", letters, "--reason", "rejected", "--dry-run").code == 0
    done = tidegate("dlq", "discard", letters, "--reason", "rejected", "--yes", "-o", "json").data
    assert done["settled"] == 3
    tidegate("dlq", "redrive", letters)
    assert committed_values(broker.bootstrap, topic) == ["v1", "v3", "v5"]
    rows = tidegate("dlq", "list", letters, "--all", "-o", "json").data
    assert sorted(row["key"] for row in rows if row["state"] == "discarded") == ["k0", "k2", "k4"]


def test_a_list_is_carried_out(
    tidegate: Tidegate, broker: RunningBroker, letters: str, topic: str, tmp_path: Path
) -> None:
    lines = [{"topic": letters, "partition": number % 2, "offset": number // 2, "to": topic} for number in (1, 4)]
    file = tmp_path / "redrive.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert tidegate("dlq", "redrive", "--list", str(file), "-o", "json").data["settled"] == 2
    assert committed_values(broker.bootstrap, topic) == ["v1", "v4"]
    assert tidegate("dlq", "redrive", "other.dlq", "--list", str(file)).code == 2
    assert tidegate("dlq", "redrive").code == 2


def test_expired_records_are_sent_back_and_do_not_expire_at_once(
    tidegate: Tidegate, broker: RunningBroker, topic: str
) -> None:
    assert tidegate("topic", "alter", topic, "--set", "expiry.policy=dlq").code == 0
    asked = ["--delay", "50", "--expires-at", "1000000000000", "--key", "k"]
    tidegate("produce", topic, "v0", *asked)
    eventually(lambda: [row for row in tidegate("dlq", "list", "-o", "json").data if row["topic"] == f"{topic}.dlq"])
    eventually(lambda: tidegate("dlq", "list", f"{topic}.dlq", "-o", "json").data)
    ended = tidegate("dlq", "redrive", f"{topic}.dlq", "--stop-on-return", "--watch", "300ms")
    assert ended.code == 0
    assert committed_values(broker.bootstrap, topic) == ["v0"]


def test_it_stops_when_what_it_sends_comes_back(tidegate: Tidegate, letters: str, topic: str) -> None:
    """Sent with a time at which it has expired already, everything dies again."""
    tidegate("topic", "alter", topic, "--set", "expiry.policy=dlq")
    asks = ["--transform", "tide-delay=1", "--transform", "tide-expires-at=1000000000000"]
    ended = tidegate("dlq", "redrive", letters, "--rate", "1", "--stop-on-return", "--watch", "20s", *asks)
    assert (ended.code, "came back dead" in ended.err) == (1, True)
    rows = tidegate("dlq", "list", letters, "--all", "-o", "json").data
    assert len([row for row in rows if row["state"] == "redriven"]) < 6


@pytest.mark.parametrize(("rewrite", "prefix"), [("true", ""), ("false", "acme.")])
def test_a_tenants_user_redrives_within_its_namespace(tmp_path: Path, rewrite: str, prefix: str) -> None:
    """As a client that knows nothing but the tenant's listener, with names as they are said there."""
    outside, inside = (f"127.0.0.1:{port}" for port in free_ports(2))
    settings = {
        "listeners": f"PLAINTEXT://{outside},ACME://{inside}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,ACME:PLAINTEXT",
        "listener.name.acme.tenant": "acme",
        "listener.name.acme.tenant.rewrite": rewrite,
    }
    with testing.broker(settings, data_dir=tmp_path / "data", timeout_s=60) as broker:
        assert run("tenant", "create", "acme", "-b", outside, "--timeout", "60").code == 0
        where = ("-b", inside, "--http", str(broker.http_url), "--timeout", "60")
        topic, letters = f"{prefix}orders", f"{prefix}orders.dlq"
        for name in (topic, letters):
            assert run("topic", "create", name, "--partitions", "1", *where).code == 0
        write_letters(inside, letters, topic, range(4))
        found = run("dlq", "list", letters, "-o", "json", *where)
        assert [row["origin_topic"] for row in found.data] == [topic] * 4, found.err
        done = run("dlq", "redrive", letters, "-o", "json", *where)
        assert (done.code, done.data["settled"]) == (0, 4), done.err
        assert run("dlq", "redrive", letters, "-o", "json", *where).data["settled"] == 0
        assert committed_values(outside, "acme.orders") == ["v0", "v1", "v2", "v3"]
