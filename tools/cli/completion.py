"""Names that a shell completes: topics and groups of the broker that variables and the profile name.

Whoever presses the tab key waits for it: the broker is asked briefly, and anything that goes wrong is no completion.
"""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from attrs import evolve

from tools.cli.profiles import from_environment

if TYPE_CHECKING:
    from tools.cli.kafka import Kafka

PATIENCE_S = 2.0


def topic_names(incomplete: str) -> list[str]:
    """Topics that begin so."""
    return _names(_topics, incomplete)


def group_names(incomplete: str) -> list[str]:
    """Groups that begin so."""
    return _names(_groups, incomplete)


def transaction_names(incomplete: str) -> list[str]:
    """Transactional ids that begin so."""
    return _names(_transactions, incomplete)


def priority_names(incomplete: str) -> list[str]:
    """Priorities that begin so."""
    from tools.cli.asked import PRIORITIES

    return [name for name in PRIORITIES if name.startswith(incomplete)]


async def _topics(kafka: "Kafka") -> list[str]:
    return [topic.name or "" for topic in (await kafka.metadata()).topics if not topic.is_internal]


async def _groups(kafka: "Kafka") -> list[str]:
    from tools.cli import groups

    return [str(each.group_id) for each in await groups.list_groups(kafka)]


async def _transactions(kafka: "Kafka") -> list[str]:
    from wire.kafka.messages.list_transactions import ListTransactionsRequest

    answers = await kafka.everywhere(ListTransactionsRequest())
    return [str(each.transactional_id) for answer in answers for each in answer.transaction_states]


def _names(ask: "Callable[[Kafka], Awaitable[list[str]]]", incomplete: str) -> list[str]:
    # Imported here: commands that talk to no broker offer names, too, and start without these.
    from tools.cli.kafka import connected, run

    async def work() -> list[str]:
        async with connected(evolve(from_environment(), timeout_s=PATIENCE_S)) as kafka:
            return await ask(kafka)

    try:
        # A name with a line feed in it would be offered as two, of which the second was never there.
        return sorted(name for name in run(work(), waits=False) if name.startswith(incomplete) and name.isprintable())
    except Exception:
        # The shell shows nothing of what is said here: a traceback would only disturb the line being typed.
        return []
