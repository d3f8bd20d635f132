"""Subscriptions by regular expression: which topics they stand for.

Expressions come from clients, so they are matched by RE2, which never takes longer than the length of its input
allows; it is also the syntax that Kafka promises. A name must match as a whole.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING

from coordinators.tenants.patterns import TenantPattern
from engine.errors import InvalidRegularExpression

if TYPE_CHECKING:
    import re2

MAX_LENGTH = 32_767
_MEMORY_BYTES = 8 * 1024 * 1024


@lru_cache(maxsize=1_000)
def _compiled(expression: str) -> "re2._Regexp[str]":
    import re2  # here and below: 2.5 MB that a broker without such subscriptions does without

    options = re2.Options()
    options.max_mem = _MEMORY_BYTES
    options.log_errors = False
    return re2.compile(expression, options)


def check(expression: str) -> None:
    """Raises if it is no regular expression."""
    import re2

    expression = TenantPattern.read(expression).expression
    try:
        _compiled(expression)
    except re2.error as error:
        raise InvalidRegularExpression(
            f"SubscribedTopicRegex `{expression}` is not a valid regular expression: {error}."
        ) from None


def matching(expression: str, names: Iterable[str]) -> tuple[str, ...]:
    """The names that it stands for, sorted."""
    scope = TenantPattern.read(expression)
    pattern = _compiled(scope.expression)
    subjects = ((name, scope.subject(name)) for name in names)
    return tuple(sorted(name for name, each in subjects if each is not None and pattern.fullmatch(each) is not None))
