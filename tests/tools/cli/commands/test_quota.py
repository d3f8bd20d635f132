"""Quotas from the command line."""

import pytest

from tests.tools.cli.conftest import Tidegate


def test_quotas_are_set_listed_and_removed(tidegate: Tidegate) -> None:
    assert tidegate("quota", "set", "producer_byte_rate=5e6", "--user", "alice", "--dry-run").code == 0
    assert tidegate("quota", "list", "-o", "json").data == []
    assert "no quotas" in tidegate("quota", "list").err
    values = ("producer_byte_rate=5000000", "request_percentage=12.5")
    assert tidegate("quota", "set", *values, "--user", "alice").code == 0
    assert tidegate("quota", "set", "consumer_byte_rate=7", "--user", "alice", "--client-defaults").code == 0
    assert tidegate("quota", "set", "connection_creation_rate=3", "--ip", "10.0.0.1").code == 0
    rows = tidegate("quota", "list", "-o", "json").data
    found = {(row["user"], row["client_id"], row["ip"], row["quota"], row["value"]) for row in rows}
    assert found == {
        ("alice", "", "", "producer_byte_rate", 5_000_000),
        ("alice", "", "", "request_percentage", 12.5),
        ("alice", "<default>", "", "consumer_byte_rate", 7),
        ("", "", "10.0.0.1", "connection_creation_rate", 3),
    }
    assert "alice" in tidegate("quota", "list", "--user", "alice").out
    assert len(tidegate("quota", "list", "--user", "alice", "-o", "json").data) == 3
    assert tidegate("quota", "remove", "request_percentage", "--user", "alice").code == 0
    assert "producer_byte_rate" in tidegate("quota", "remove", "--user", "alice").out
    assert tidegate("quota", "remove", "--user", "alice", "--client-defaults").code == 0
    assert tidegate("quota", "remove", "--ip", "10.0.0.1", "-o", "yaml").code == 0
    assert tidegate("quota", "list", "-o", "json").data == []


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["set", "producer_byte_rate=1"], 2, "nobody is named"),
        (["set", "producer_byte_rate=fast", "--user", "u"], 2, "is a number"),
        (["set", "producer_byte_rate=0", "--user", "u"], 5, "must be greater than 0"),
        (["set", "no_such_rate=1", "--user", "u"], 5, "no_such_rate"),
        (["set", "connection_creation_rate=1", "--ip", "there"], 5, "not a valid IP address"),
        (["list", "--user", "u", "--user-defaults"], 2, "choose one"),
        (["remove"], 2, "nobody is named"),
    ],
)
def test_what_cannot_be_is_told(tidegate: Tidegate, arguments: list[str], code: int, said: str) -> None:
    ended = tidegate("quota", *arguments)
    assert (ended.code, said in ended.err) == (code, True), ended.err
