"""Carries out the rows: users, rules and topics first, then each request as each of its senders.

`python -m compat_tests.security.acl_script` starts the broker that COMPAT_TARGET names and prints every answer as
`acl_answers.py` has them; ROW=NAME chooses one row.
"""

import hashlib
import importlib
import os
import time
import typing
from collections.abc import Iterable, Iterator
from typing import Any

from attrs import evolve, frozen
from msgspec import Struct, structs

from compat_tests.security.acl_rows import RECORDS, At, Body, Row
from compat_tests.security.acl_rows_cluster import CLUSTER, TOPICS
from compat_tests.security.acl_rows_groups import GROUPS, RULES, TRANSACTIONS
from compat_tests.security.signing_in import by_scram
from compat_tests.share.asking import ask
from compat_tests.wire.connection import Closed, Wire

ROWS = (*RECORDS, *TOPICS, *CLUSTER, *GROUPS, *TRANSACTIONS, *RULES)
PASSWORD, SALT, ITERATIONS = "correct horse", b"0123456789abcdef", 4096
STRANGER = "stranger"
OPERATIONS = {
    "ALL": 2,
    "READ": 3,
    "WRITE": 4,
    "CREATE": 5,
    "DELETE": 6,
    "ALTER": 7,
    "DESCRIBE": 8,
    "CLUSTER_ACTION": 9,
    "DESCRIBE_CONFIGS": 10,
    "ALTER_CONFIGS": 11,
    "IDEMPOTENT_WRITE": 12,
}
KINDS = {"topic": 2, "group": 3, "cluster": 4, "txn": 5}
LITERAL, PREFIXED, DENY, ALLOW = 3, 4, 2, 3
CLOSED = "closed"
NOT_YET = {14, 15, 16, 5}
PATIENCE_S = 20.0


@frozen
class Answer:
    """Every error code of an answer in the order in which they stand there, and what else was looked at."""

    codes: tuple[int, ...] | str
    shown: object = None


def request(api: str, body: Body) -> Any:
    """A message of an API out of plain values."""
    module = importlib.import_module(f"wire.kafka.messages.{api}")
    return _filled(getattr(module, api.title().replace("_", "") + "Request"), body)


def _filled(kind: type, body: Body) -> Any:
    hints = typing.get_type_hints(kind)
    known = {each.name for each in structs.fields(kind)}
    return kind(**{name: _value(hints[name], value) for name, value in body.items() if name in known})


def _value(hint: Any, value: Any) -> Any:
    if isinstance(value, list):
        found = [_struct(each) for each in (hint, *typing.get_args(hint)) for each in (each, *typing.get_args(each))]
        kind = next((each for each in found if each is not None), None)
        return value if kind is None else [_filled(kind, each) for each in value]
    if isinstance(value, dict):
        kind = next(each for each in map(_struct, (hint, *typing.get_args(hint))) if each is not None)
        return _filled(kind, value)
    return value


def _struct(hint: Any) -> type | None:
    return hint if isinstance(hint, type) and issubclass(hint, Struct) else None


def codes(answer: Any) -> Iterator[int]:
    """The error codes in an answer, from the outside in."""
    if isinstance(answer, Struct):
        for name in answer.__struct_fields__:
            value = getattr(answer, name)
            if name.endswith("error_code"):
                yield value
            else:
                yield from codes(value)
    elif isinstance(answer, list):
        for each in answer:
            yield from codes(each)


def rights(text: str, user: str, at: At) -> Iterator[Body]:
    """What a row writes of rights, as rules."""
    for right in filter(None, (part.strip() for part in text.split(";"))):
        operation, what = right.lstrip("!~").split()
        what, _, host = what.partition("@")
        kind, _, name = what.partition("=")
        named = f"{at.name}-{name or kind}" if name != "*" else "*"
        is_prefix = name.endswith("*") and name != "*"
        yield {
            "resource_type": KINDS[kind],
            "resource_name": "kafka-cluster" if kind == "cluster" else named.removesuffix("*") if is_prefix else named,
            "resource_pattern_type": PREFIXED if is_prefix else LITERAL,
            "principal": "User:*" if "~" in right else f"User:{user}",
            "host": host or "*",
            "operation": OPERATIONS[operation],
            "permission_type": DENY if right.startswith("!") else ALLOW,
        }


def users(row: Row) -> tuple[tuple[str, str], ...]:
    """Who sends the row's request, with which rights."""
    return (STRANGER, ""), (f"{row.name}.near", row.near), (f"{row.name}.right", row.right)


def prepare(open_address: str, rows: Iterable[Row] = ROWS) -> dict[str, At]:
    """Makes users, rules, topics and what rows want to be there; gives the names of each row."""
    chosen = list(rows)
    with Wire(open_address) as wire:
        _make_users(wire, chosen)
        _make_rules(wire, chosen)
        found = _make_topics(wire, chosen)
        for kind, key in enumerate(("g", "t", "g:AAAAAAAAAAAAAAAAAAAAAQ:0")):
            _insist(wire, "find_coordinator", 6, {"key_type": kind, "coordinator_keys": [key]})
        for row in chosen:
            for api, version, body in row.prepare:
                _insist(wire, api, version, body(found[row.name]))
    return found


def _make_users(wire: Wire, rows: list[Row]) -> None:
    salted = hashlib.pbkdf2_hmac("sha256", PASSWORD.encode(), SALT, ITERATIONS)
    given = {"mechanism": 1, "iterations": ITERATIONS, "salt": SALT, "salted_password": salted}
    names = [STRANGER, *(user for row in rows for user, _ in users(row)[1:])]
    answer = ask(
        wire, request("alter_user_scram_credentials", {"upsertions": [{"name": name, **given} for name in names]})
    )
    assert {each.error_code for each in answer.results} == {0}


def _make_rules(wire: Wire, rows: list[Row]) -> None:
    wanted = [rule for row in rows for user, text in users(row) for rule in rights(text, user, At(row.name))]
    answer = ask(wire, request("create_acls", {"creations": wanted}), 3)
    assert {each.error_code for each in answer.results} == {0}, answer


def _make_topics(wire: Wire, rows: list[Row]) -> dict[str, At]:
    places = {row.name: At(row.name) for row in rows}
    names = [name for at in places.values() for name in (at.topic, at.second)]
    topics = [{"name": name, "num_partitions": 1, "replication_factor": 1} for name in names]
    answer = ask(wire, request("create_topics", {"topics": topics, "timeout_ms": 30_000}), 7)
    assert {each.error_code for each in answer.topics} == {0}
    ids = {each.name: bytes(each.topic_id) for each in answer.topics}
    deadline = time.monotonic() + PATIENCE_S
    while True:  # until every one has a leader
        told = ask(wire, request("metadata", {"topics": [{"name": name} for name in names]}), 12)
        if {part.error_code for topic in told.topics for part in topic.partitions} == {0}:
            break
        assert time.monotonic() < deadline
        time.sleep(0.1)
    return {name: evolve(at, topic_id=ids[at.topic], second_id=ids[at.second]) for name, at in places.items()}


def _insist(wire: Wire, api: str, version: int, body: Body) -> None:
    """Sends it until the coordinator is there."""
    deadline = time.monotonic() + PATIENCE_S
    while NOT_YET & set(codes(answer := ask(wire, request(api, body), version))):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert set(codes(answer)) <= {0}, (api, answer)


def answers(address: str, row: Row, at: At) -> list[Answer]:
    """What the broker answers to each sender of a row, who all come by a listener that asks for SCRAM."""
    return [_answer(address, user, row, at) for user, _ in users(row)]


def _answer(address: str, user: str, row: Row, at: At) -> Answer:
    deadline = time.monotonic() + PATIENCE_S
    with Wire(address) as wire:
        by_scram(wire, user, PASSWORD)
        while True:
            try:
                answer = ask(wire, request(row.api, row.body(at)), row.version)
            except Closed:
                return Answer(CLOSED)
            found = tuple(codes(answer))
            if not NOT_YET & set(found) or time.monotonic() > deadline:
                return Answer(found, None if row.shows is None else row.shows(answer, at))
            time.sleep(0.1)


def main() -> None:
    """Asks everything, and writes down what was answered."""
    from compat_tests.security.secured import secured

    with secured() as broker:
        places = prepare(broker.open)
        chosen = os.environ.get("ROW")
        for row in ROWS:
            if chosen and chosen != row.name:
                continue
            try:
                found = answers(broker.sasl, row, places[row.name])
            except Exception as error:
                print(f"    # {row.name}: {error!r}")
                continue
            told = ", ".join(
                repr(each.codes) if each.shown is None else f"({each.codes!r}, {each.shown!r})" for each in found
            )
            print(f"    {row.name!r}: ({told}),", flush=True)


if __name__ == "__main__":
    main()
