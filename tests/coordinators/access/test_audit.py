"""The audit log: one line for the same within a second, so many lines at most, nothing that is waited for."""

import json
from collections.abc import Sequence

import pytest
from attrs import define, field

from coordinators.access.acls import Operation, ResourceKind
from coordinators.access.audit import Audit
from coordinators.access.authorizer import Decision
from coordinators.access.callers import Caller, Principal
from engine.catalogue.records import AclRecord
from engine.clock import ManualClock
from engine.timers import Timers

ALICE = Caller(Principal("alice"), "10.0.0.7")
DENIED = Decision(False, "no rule allows it")
ALLOWED = Decision(True, "allowed by a rule", AclRecord(2, "orders", 3, "User:alice", "*", 5, 3))


@define(eq=False)
class Kept:
    """A sink in memory."""

    lines: list[dict[str, object]] = field(factory=list)
    is_closed: bool = False

    def write(self, lines: Sequence[bytes]) -> None:
        self.lines += map(json.loads, lines)

    def close(self) -> None:
        self.is_closed = True


@pytest.fixture
def kept() -> Kept:
    return Kept()


def audit(kept: Kept, limit: int = 10) -> Audit:
    clock = ManualClock()
    return Audit(clock, Timers(), limit, [kept])


def note(log: Audit, name: str = "orders", decision: Decision = DENIED, caller: Caller = ALICE) -> None:
    log.note(caller, Operation.CREATE, ResourceKind.TOPIC, name, decision, "create_topics")


def test_a_line_says_who_did_what_to_which_resource_and_which_rule_decided(kept: Kept) -> None:
    log = audit(kept)
    note(log, decision=ALLOWED)
    log.flush()
    (line,) = kept.lines
    assert line.pop("time_ms") is not None
    assert line == {
        "schema": 1,
        "principal": "User:alice",
        "host": "10.0.0.7",
        "request": "create_topics",
        "operation": "CREATE",
        "resource": "TOPIC",
        "name": "orders",
        "allowed": True,
        "reason": "allowed by a rule",
        "rule": "ALLOW User:alice from * CREATE on LITERAL TOPIC 'orders'",
        "count": 1,
    }


def test_the_same_within_a_second_is_one_line(kept: Kept) -> None:
    log = audit(kept)
    for _ in range(1000):
        note(log)
    log.flush()
    assert [line["count"] for line in kept.lines] == [1000]


def test_there_are_so_many_lines_a_second_and_the_last_tells_what_is_missing(kept: Kept) -> None:
    log = audit(kept, limit=3)
    for number in range(10):
        note(log, f"topic-{number}")
    log.flush()
    assert len(kept.lines) == 3
    assert kept.lines[-1]["suppressed"] == 7
    assert log.statistics() == {"audit_lines": 3, "audit_suppressed": 7}


def test_the_last_lines_are_written_when_it_ends(kept: Kept) -> None:
    log = audit(kept)
    note(log)
    log.close()
    assert kept.is_closed
    assert len(kept.lines) == 1


def test_names_are_cut_and_broken_text_is_replaced(kept: Kept) -> None:
    log = audit(kept)
    note(log, "x" * 10_000)
    note(log, "\ud800")
    log.flush()
    assert kept.lines[0]["name"] == "x" * 300
    assert kept.lines[1]["name"] == "?"


def test_nobody_fills_the_log_alone(kept: Kept) -> None:
    log = Audit(ManualClock(), Timers(), 100, [kept], max_per_principal=3)
    for number in range(1_000):
        note(log, f"t{number}")
    for number in range(2):
        note(log, f"t{number}", caller=Caller(Principal("bob"), "10.0.0.8"))
    log.flush()
    assert [line["principal"] for line in kept.lines] == ["User:alice"] * 3 + ["User:bob"] * 2
    assert kept.lines[-1]["suppressed"] == log.suppressed == 997
    note(log)
    log.flush()
    assert len(kept.lines) == 6, "the next second is another"
