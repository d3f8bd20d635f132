"""Who did what, and who was kept from it: one line for each, as JSON, for people, files and pipelines.

What is denied is told, and what is allowed where it changes something: whoever reads and writes records would be told
of thousands of times a second. The same of the same caller within a second is one line that says how often. There are
so many lines a second at most, and fewer of one caller, so that nobody fills it to hide what others do, or what it did
itself under another name; the next line after that tells how many there would have been. Nobody ever waits for it: what
a sink cannot take in time is dropped, and counted.

A line names callers, rights and resources, and nothing of what requests hold: no secret can be in it.
"""

import json
import logging
from collections import Counter
from collections.abc import Sequence
from typing import Any, Protocol

from attrs import define, field

from coordinators.access.acls import Operation, ResourceKind, told
from coordinators.access.authorizer import Decision
from coordinators.access.callers import Caller, Principal
from engine.clock import Clock
from engine.timers import Timers

logger = logging.getLogger("tidegate.audit")

CHANGING = frozenset((Operation.CREATE, Operation.DELETE, Operation.ALTER, Operation.ALTER_CONFIGS))
"""What is told of where it is allowed, too."""
WINDOW_S = 1.0
NAME_LENGTH_TOLD = 300
SCHEMA_VERSION = 1

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_What = tuple[Caller, Operation, ResourceKind, str, str]


class AuditSink(Protocol):
    """Where lines go."""

    def write(self, lines: Sequence[bytes]) -> None:
        """Take them, without waiting; what cannot be taken is dropped."""
        ...

    def close(self) -> None:
        """No more will come."""
        ...


@define(eq=False)
class _Entry:
    time_ms: int
    decision: Decision
    count: int = 1


@define(eq=False)
class Audit:
    """See the module."""

    clock: Clock
    timers: Timers
    max_per_second: int
    sinks: list[AuditSink] = field(factory=list)
    max_per_principal: int = 2**31
    """Lines a second of one caller's name."""
    written: int = field(default=0, init=False)
    suppressed: int = field(default=0, init=False)
    _left_out: int = field(default=0, init=False)
    """Since the last line."""
    _entries: dict[_What, _Entry] = field(factory=dict, init=False)
    _by_principal: Counter[Principal] = field(factory=Counter, init=False)
    _is_waiting: bool = field(default=False, init=False)

    def wants(self, operation: Operation) -> bool:
        """Whether it is told of, though it is allowed."""
        return operation in CHANGING

    def note(
        self, caller: Caller, operation: Operation, resource: ResourceKind, name: str, decision: Decision, asked: str
    ) -> None:
        """It was decided, and is about to be done or refused."""
        what = caller, operation, resource, name, asked
        entry = self._entries.get(what)
        if entry is not None and entry.decision.allowed == decision.allowed:
            entry.count += 1
        elif entry is not None or self._is_full(caller):
            self._left_out += 1
            self.suppressed += 1
        else:
            self._entries[what] = _Entry(self.clock.now_ms(), decision)
            self._by_principal[caller.principal] += 1
        if not self._is_waiting:
            self._is_waiting = True
            self.timers.call_at(self.clock.monotonic() + WINDOW_S, self.flush)

    def _is_full(self, caller: Caller) -> bool:
        is_full = len(self._entries) >= self.max_per_second
        return is_full or self._by_principal[caller.principal] >= self.max_per_principal

    def flush(self) -> None:
        """Hand out what was noted."""
        self._is_waiting = False
        self._by_principal.clear()
        entries, self._entries = self._entries, {}
        left_out, self._left_out = self._left_out, 0
        told_of = [_fields(what, entry) for what, entry in entries.items()]
        if left_out and told_of:
            told_of[-1]["suppressed"] = left_out
        self.written += len(told_of)
        for fields in told_of:
            logger.info("%s", "allowed" if fields["allowed"] else "denied", extra={"audit": fields})
        if self.sinks:
            lines = [_encode(fields).encode("utf-8", "replace") for fields in told_of]
            for sink in self.sinks:
                sink.write(lines)

    def close(self) -> None:
        """Hand out the last of it."""
        if self._entries:
            self.flush()
        for sink in self.sinks:
            sink.close()

    def statistics(self) -> dict[str, int]:
        """Lines written, and events that there was no line for."""
        return {"audit_lines": self.written, "audit_suppressed": self.suppressed}


def _fields(what: _What, entry: _Entry) -> dict[str, Any]:
    caller, operation, resource, name, asked = what
    decision = entry.decision
    return {
        "schema": SCHEMA_VERSION,
        "time_ms": entry.time_ms,
        "principal": str(caller.principal),
        "host": caller.host,
        "request": asked,
        "operation": operation.name,
        "resource": resource.name,
        "name": name[:NAME_LENGTH_TOLD],
        "allowed": decision.allowed,
        "reason": decision.reason,
        "rule": None if decision.rule is None else told(decision.rule),
        "count": entry.count,
    }
