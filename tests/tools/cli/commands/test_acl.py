"""Rules from the command line: made, listed, removed, and which of them decides."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tools.cli.conftest import run
from tidegate import testing

SETTINGS = {"authorizer.enable": "true", "super.users": "User:ANONYMOUS;User:root", "audit.file.path": "audit.log"}


@pytest.fixture(scope="module")
def where(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, tuple[str, ...]]]:
    data = tmp_path_factory.mktemp("ruled")
    with testing.broker(SETTINGS, data_dir=str(data), timeout_s=60) as broker:
        yield data, ("-b", broker.bootstrap, "--timeout", "60")


def test_rules_are_made_listed_explained_and_removed(where: tuple[Path, tuple[str, ...]]) -> None:
    data, at = where
    made = run("acl", "add", "alice", "read,describe", "--topic", "ord", "--prefix", *at)
    assert made.code == 0
    assert "made: ALLOW User:alice from * READ on PREFIXED TOPIC 'ord'" in made.out
    assert run("acl", "add", "*", "all", "--topic", "orders.secret", "--deny", *at).code == 0
    listed = run("acl", "list", "--topic", "orders", "-o", "json", *at).data
    assert {(each["operation"], each["pattern"]) for each in listed} == {("read", "prefixed"), ("describe", "prefixed")}
    assert len(run("acl", "list", "--user", "*", "-o", "json", *at).data) == 1
    why = run("acl", "why", "alice", "read", "--topic", "orders", "-o", "json", *at).data
    assert (why["allowed"], why["rule"]["name"]) == (True, "ord")
    denied = run("acl", "why", "alice", "read", "--topic", "orders.secret", *at)
    assert "denied: denied by a rule: DENY User:* from * ALL on LITERAL TOPIC 'orders.secret'" in denied.out
    assert run("acl", "why", "root", "alter", "--cluster", "-o", "json", *at).data["reason"] == "a super user"
    assert run("acl", "why", "bob", "read", "--group", "g", "-o", "json", *at).data["allowed"] is False
    assert run("acl", "remove", "alice", "--operation", "read", "--yes", *at).code == 0
    assert [each["operation"] for each in run("acl", "list", "--user", "alice", "-o", "json", *at).data] == ["describe"]
    assert run("acl", "remove", "alice", "--operation", "read", "--yes", *at).code == 4
    assert run("acl", "add", "acme.ann", "alter", "--tenant", "acme", *at).code == 0
    (rule,) = run("acl", "list", "--tenant", "acme", "-o", "json", *at).data
    assert (rule["resource"], rule["name"], rule["operation"]) == ("cluster", "acme.kafka-cluster", "alter")
    audited = _audited(data)
    assert "create_acls" in {line["request"] for line in audited}
    assert all(line["principal"] == "User:ANONYMOUS" for line in audited)


def _audited(data: Path) -> list[dict[str, str]]:
    def lines() -> list[dict[str, str]]:
        file = data / "audit.log"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    deadline = time.monotonic() + 30
    while not lines() and time.monotonic() < deadline:
        time.sleep(0.05)
    return lines()


@pytest.mark.parametrize(
    "words",
    [
        ("add", "alice", "read"),
        ("add", "alice", "read", "--topic", "a", "--group", "b"),
        ("add", "alice", "fly", "--topic", "a"),
        ("why", "alice", "any", "--topic", "a"),
    ],
)
def test_what_makes_no_sense_is_a_mistake(where: tuple[Path, tuple[str, ...]], words: tuple[str, ...]) -> None:
    assert run("acl", *words, *where[1]).code == 2


def test_without_an_authorizer_there_is_nothing_to_list() -> None:
    with testing.broker({}, timeout_s=60) as broker:
        refused = run("acl", "list", "-b", broker.bootstrap, "--timeout", "60")
    assert refused.code != 0
    assert "authorizer.enable=true" in refused.err
