"""Modes: whether a subject, a context or the whole registry takes changes, and whether ids may be given with them."""

from enum import Enum

from coordinators.schemas.errors import InvalidMode, OperationNotPermitted
from coordinators.schemas.names import GLOBAL, Subject
from coordinators.schemas.registry import Registry

FORWARD = "FORWARD"


class Mode(Enum):
    """What Confluent's registry has, but for FORWARD: there is nobody to whom anything could be forwarded."""

    READWRITE = "READWRITE"
    READONLY = "READONLY"
    READONLY_OVERRIDE = "READONLY_OVERRIDE"
    """Of the whole registry: nothing is taken, whatever single subjects say."""
    IMPORT = "IMPORT"
    """Schemas come with the ids that they had elsewhere, and are compared with nothing."""


def parse_mode(text: object) -> Mode:
    """The mode of a name, in capitals or not; `InvalidMode` if there is none."""
    if isinstance(text, str) and text.upper() == FORWARD:
        raise InvalidMode("The mode FORWARD is not supported: there is no other registry that anything is forwarded to")
    try:
        return Mode(text.upper()) if isinstance(text, str) else Mode(text)
    except ValueError:
        names = ", ".join(mode.value for mode in Mode)
        raise InvalidMode(f"Invalid mode {text!r}. Valid values are {names}") from None


def mode_of(registry: Registry, subject: Subject) -> Mode:
    """The mode that holds for a subject."""
    over_all = registry.settings.get(GLOBAL)
    if over_all is not None and over_all.mode == Mode.READONLY_OVERRIDE.value:
        return Mode.READONLY_OVERRIDE
    return Mode(registry.mode(subject) or Mode.READWRITE.value)


def check_writable(registry: Registry, subject: Subject) -> Mode:
    """The mode, if the subject takes changes; else `OperationNotPermitted`."""
    mode = mode_of(registry, subject)
    if mode in (Mode.READONLY, Mode.READONLY_OVERRIDE):
        raise OperationNotPermitted(f"Subject {subject} is in read-only mode")
    return mode
