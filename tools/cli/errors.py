"""What goes wrong, said in one line with the next step, and the exit status that scripts look at."""

from enum import IntEnum

from tools.cli.output import printable


class Exit(IntEnum):
    """The exit status of a command."""

    OK = 0
    FAILED = 1
    USAGE = 2
    UNREACHABLE = 3
    NOT_FOUND = 4
    REFUSED = 5
    INTERRUPTED = 130
    TERMINATED = 143


EXIT_MEANINGS = {
    Exit.OK: "done",
    Exit.FAILED: "it did not work, or a check found something",
    Exit.USAGE: "the command or an option is wrong",
    Exit.UNREACHABLE: "the broker, or its operations door, does not answer",
    Exit.NOT_FOUND: "what was named is not there: a topic, a group, a record, a trace",
    Exit.REFUSED: "the broker refused",
    Exit.INTERRUPTED: "interrupted by Ctrl-C",
    Exit.TERMINATED: "ended by SIGTERM, in good order",
}


class Ended(BaseException):
    """A signal has asked for an end, and everything was left in order."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.status = 128 + number


class CliError(Exception):
    """A command cannot go on. `hint` is what to do next."""

    status = Exit.FAILED

    def __init__(self, message: str, hint: str = "", status: Exit | None = None) -> None:
        super().__init__(message)
        self.hint = hint
        if status is not None:
            self.status = status

    def add(self, text: str) -> None:
        """Something more to know."""
        self.hint = f"{self.hint}; {text}" if self.hint else text

    def line(self) -> str:
        """All of it in one line."""
        text = " ".join(f"tidegate: {self}".split())
        between = " " if text.endswith("?") else "; "
        return printable(f"{text}{between}{self.hint}" if self.hint else text)


class UsageMistake(CliError):
    """An argument or option cannot be what it is."""

    status = Exit.USAGE


class CannotReach(CliError):
    """Nobody answers."""

    status = Exit.UNREACHABLE


class NotFound(CliError):
    """What was named is not there."""

    status = Exit.NOT_FOUND


class Refused(CliError):
    """The broker said no; `code` is Kafka's error code, 0 where it came over HTTP."""

    status = Exit.REFUSED

    def __init__(self, message: str, hint: str = "", code: int = 0, status: Exit | None = None) -> None:
        super().__init__(message, hint, status)
        self.code = code


class NotOffered(Refused):
    """The broker has no such API, or not for this user."""


# Kafka's error codes: what they mean for what was asked, and what to do. `{what}` is the thing that was asked about.
_SAID: dict[int, tuple[str, str, Exit]] = {
    3: ("no topic or partition {what}", "'tidegate topic list' shows those that there are", Exit.NOT_FOUND),
    10: ("a record is too large for {what}", "see max.message.bytes of the topic", Exit.REFUSED),
    17: ("{what} is no name for a topic", "letters, digits, '.', '_' and '-' are allowed, 249 at most", Exit.REFUSED),
    29: ("no right to use topic {what}", "use a profile of a user who has it", Exit.REFUSED),
    30: ("no right to use group {what}", "use a profile of a user who has it", Exit.REFUSED),
    31: ("no right to do this to the cluster", "use a profile of a user who has it", Exit.REFUSED),
    36: (
        "{what} exists already",
        "choose another name, or alter it with 'tidegate topic alter TOPIC --set KEY=VALUE'",
        Exit.REFUSED,
    ),
    37: ("this number of partitions cannot be for {what}", "it can only grow", Exit.REFUSED),
    38: ("this replication factor cannot be for {what}", "it is at most the number of nodes", Exit.REFUSED),
    40: (
        "a setting of {what} cannot be",
        "'tidegate config get topic TOPIC --all --docs' lists the keys of topics",
        Exit.REFUSED,
    ),
    58: ("user name or password is wrong", "see the profile, or --help", Exit.REFUSED),
    68: ("group {what} has members", "stop its consumers first", Exit.REFUSED),
    69: ("no group {what}", "'tidegate group list' shows those that there are", Exit.NOT_FOUND),
    105: ("no transactional id {what}", "'tidegate txn list' shows those that there are", Exit.NOT_FOUND),
}


# Where a broker's own message says less than ours: it has forgotten what was asked for.
_OUR_WORDS = {3, 29, 30, 31, 58, 68, 69, 105}


def refusal(code: int, what: str, said: str | None = None) -> Refused:
    """The exception for a Kafka error code; `said` is the broker's own message, which is better than ours."""
    message, hint, status = _SAID.get(code, ("{what}: the broker answers " + error_name(code), "", Exit.REFUSED))
    text = message.format(what=what)
    if said and code not in _OUR_WORDS:
        text = said.strip().rstrip(".") if code in _SAID else f"{text}: {said.strip()}"
    return Refused(text, hint, code, status)


def error_name(code: int) -> str:
    """Kafka's name of an error code."""
    from kio.schema.errors import ErrorCode

    try:
        return str(ErrorCode(code).name).upper()
    except ValueError:
        return f"error {code}"


def is_retriable(code: int) -> bool:
    """Whether the same call may succeed in a moment, because something is being elected or loaded."""
    from kio.schema.errors import ErrorCode

    try:
        # Kafka counts this one as retriable; to a person it means that the name is wrong.
        return bool(ErrorCode(code).retriable) and code != 3
    except ValueError:
        return False
