"""Traces as a caller may be told of them: of records that it may read, and in them only groups that it may describe.

A trace holds the record's key and who has read it. What somebody did of whom the caller may not know is told as a step
without saying whose it was. Whoever may describe the cluster is told everything; a tenant's caller, everything within
its namespace.
"""

from collections.abc import Mapping
from copy import copy
from typing import Any

from coordinators.access.access import AccessControl
from coordinators.access.rights import DESCRIBE_CLUSTER, DESCRIBE_GROUP, READ_TOPIC
from engine.trace.record_trace import RecordTrace, TraceEvent
from wire.http.messages import Call

GROUP = "group"


class ToldTraces:
    """What one caller is told."""

    def __init__(self, call: Call, access: AccessControl) -> None:
        self._caller = call.caller
        self._names = call.names
        self._access = access
        self._is_open = not access.is_enforced or access.permits(call.caller, DESCRIBE_CLUSTER)
        self._is_whole = self._is_open and self._names.tenant is None

    def of(self, trace: RecordTrace) -> RecordTrace | None:
        """The trace in the caller's names; None if it may not be told of it."""
        if self._is_whole:
            return trace
        if not self._names.is_mine(trace.topic) or not self._may(READ_TOPIC, trace.topic):
            return None
        told = copy(trace)
        told.topic = self._names.told(trace.topic)
        told.events = [TraceEvent(each.kind, each.time_us, self._said(each.attributes)) for each in trace.events]
        return told

    def _may(self, right: Any, name: str) -> bool:
        return self._is_open or self._access.permits(self._caller, right, name)

    def _said(self, attributes: Mapping[str, Any]) -> dict[str, Any]:
        group = attributes.get(GROUP)
        if group is not None and not (self._names.is_mine(group) and self._may(DESCRIBE_GROUP, group)):
            return {}
        return {name: self._told(name, value) for name, value in attributes.items()}

    def _told(self, name: str, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        return self._names.told(value) if name == GROUP else self._names.words(value)
