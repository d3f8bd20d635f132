"""Where a group's offsets go when somebody moves them: the ways to say it, the same for every door and the command."""

EARLIEST, LATEST = "earliest", "latest"
TIME_MARK = "@"
WAYS = "earliest, latest, an offset, -N, +N, or @ and a time"


class NoSuchWay(ValueError):
    """What was said leads nowhere."""


def is_time(target: str) -> bool:
    """Whether it is a time, whose offset the partition has to be asked for."""
    return target.startswith(TIME_MARK)


def goal(target: str, start: int, end: int, committed: int | None) -> int:
    """Where it leads in a partition that begins and ends there, from what is committed, within what is there."""
    if target in (EARLIEST, LATEST):
        return end if target == LATEST else start
    if target[:1] in ("+", "-") and _is_number(target[1:]):
        wanted = (start if committed is None else committed) + int(target)
    elif _is_number(target):
        wanted = int(target)
    else:
        raise NoSuchWay(target)
    return min(max(wanted, start), end)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= len(str(2**63))
