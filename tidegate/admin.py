"""Delayed and prioritised records for operators: seen, cancelled, moved to another time, released now.

In the broker's own process, in a trio program:

    async with Broker(config) as broker:
        admin = Admin.of(broker)
        page = await admin.list_pending("orders")

From anywhere else over its operations door, without an event loop:

    admin = Admin.connect("http://127.0.0.1:8080")
    admin.reschedule("orders", 0, "invoice-17", delay_ms=60_000)

Both have the same methods and give the same values (`tidegate.admin_results`).
"""

from typing import TYPE_CHECKING

from tidegate.admin_results import (
    AdminError,
    DelayedRecord,
    DelayReport,
    DelayStatistics,
    DueBucket,
    Fate,
    Header,
    Lateness,
    NoSuchRecord,
    NoSuchTopic,
    NotAllowed,
    PendingPage,
    PendingRecord,
    PriorityStatistics,
    TooLate,
    Unreachable,
)
from tidegate.remote_admin import TIMEOUT_S, RemoteAdmin

if TYPE_CHECKING:
    import ssl

    from tidegate.broker import Broker
    from tidegate.embedded_admin import EmbeddedAdmin

__all__ = [
    "Admin",
    "AdminError",
    "DelayReport",
    "DelayStatistics",
    "DelayedRecord",
    "DueBucket",
    "Fate",
    "Header",
    "Lateness",
    "NoSuchRecord",
    "NoSuchTopic",
    "NotAllowed",
    "PendingPage",
    "PendingRecord",
    "PriorityStatistics",
    "TooLate",
    "Unreachable",
]


class Admin:
    """The two ways to a broker."""

    @staticmethod
    def of(broker: "Broker") -> "EmbeddedAdmin":
        """Of a broker that runs in this process; its methods are async."""
        # Loaded here: whoever asks another process needs none of the broker's own packages.
        from tidegate.embedded_admin import EmbeddedAdmin

        return EmbeddedAdmin.of(broker)

    @staticmethod
    def connect(
        url: str,
        token: str | None = None,
        *,
        user: tuple[str, str] | None = None,
        tls: "ssl.SSLContext | None" = None,
        timeout_s: float = TIMEOUT_S,
    ) -> RemoteAdmin:
        """Of a broker behind its operations door; `token` is its `http.token` or one of the issuer that it trusts,
        `user` a name and a password instead, `tls` what `https` goes by. Nothing is sent yet."""
        return RemoteAdmin(url, token, timeout_s, user=user, tls=tls)
