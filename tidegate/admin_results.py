"""What `tidegate.admin` gives and raises: plain values, the same whether the broker is asked in-process or over HTTP.

The values are the broker's own (`coordinators/release/pending_records.py` says what each field means).
"""

from tidegate import _path

_path.import_alone("coordinators.release.pending_records")

from coordinators.release.pending_records import (  # noqa: E402
    DelayedRecord,
    DelayReport,
    DelayStatistics,
    DueBucket,
    Fate,
    FateName,
    Header,
    Lateness,
    PendingPage,
    PendingRecord,
    PriorityStatistics,
    StateName,
)

__all__ = [
    "ERRORS",
    "AdminError",
    "DelayReport",
    "DelayStatistics",
    "DelayedRecord",
    "DueBucket",
    "Fate",
    "FateName",
    "Header",
    "Lateness",
    "NoSuchRecord",
    "NoSuchTopic",
    "NotAllowed",
    "PendingPage",
    "PendingRecord",
    "PriorityStatistics",
    "StateName",
    "TooLate",
    "Unreachable",
    "admin_error",
]


class AdminError(Exception):
    """The broker refused, or could not be asked. `error` names the broker's own error, where it is one."""

    def __init__(self, message: str, error: str = "") -> None:
        super().__init__(message)
        self.error = error


class Unreachable(AdminError):
    """No answer came: whether something was changed is not known."""


class NotAllowed(AdminError):
    """The broker asks for a token, and was given none or a wrong one."""


class NoSuchTopic(AdminError):
    """There is no topic, or no partition, of this name."""


class NoSuchRecord(AdminError):
    """Nothing is pending under this id, nor is it remembered."""


class TooLate(AdminError):
    """The record has gone, is due, or is held by a transaction: it can be neither cancelled nor moved."""


ERRORS: dict[str, type[AdminError]] = {
    "UnknownTopicOrPartition": NoSuchTopic,
    "NoSuchRecord": NoSuchRecord,
    "TooLate": TooLate,
}


def admin_error(message: str, error: str) -> AdminError:
    """The exception for an error of the broker, by its name."""
    return ERRORS.get(error, AdminError)(message, error)
