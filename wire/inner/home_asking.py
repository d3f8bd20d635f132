"""How those who live here ask: the coordinator of their group or transactions, or whichever node."""

from typing import Any

from wire.inner.asking import TIMEOUT_S, InnerClient
from wire.inner.memberships import Ask
from wire.kafka.calls import Guest

GRACE_S = 5.0


def coordinator_of(inner: InnerClient, guest: Guest, kind: int, key: str) -> Ask:
    """Asks whoever coordinates this group or transaction at the time."""

    async def ask(message: Any, version: int | None = None, *, wait_s: float = 0.0) -> Any:
        timeout_s = max(TIMEOUT_S, wait_s + GRACE_S)
        return await inner.ask_coordinator(guest, kind, key, message, version, timeout_s=timeout_s)

    return ask


def anybody(inner: InnerClient, guest: Guest) -> Ask:
    """Asks this node, where any would do."""

    async def ask(message: Any, version: int | None = None, *, wait_s: float = 0.0) -> Any:
        return await inner.ask(guest, message, version, timeout_s=wait_s)

    return ask
