"""What the broker answered: aiokafka tries again, for ever where nobody stops it, and does not tell why.

Each answer with an error is noted as it passes, and forgotten when the same request succeeds. Whoever has waited long
enough then says what the broker said, and not that nobody answers.
"""

import asyncio
from collections.abc import Coroutine, Iterable, Iterator
from typing import Any, TypeVar

from attrs import define, field, frozen

from tools.cli.errors import CannotReach, CliError, Refused, error_name

PRODUCE, METADATA = 0, 3
FIRST_VERSION_WITH_REASONS = 8
# All is well, and others join the group: it is asked again.
HARMLESS = {27}
HINTS = {
    15: "no coordinator can be made or loaded; see 'tidegate status' and the broker's log",
    56: "its disk is full, or fails; see 'tidegate status'",
}
GRACE_S = 1.0
Result = TypeVar("Result")


@frozen
class Answer:
    """An answer with an error."""

    code: int
    reason: str = ""

    def __str__(self) -> str:
        return error_name(self.code) + (f": {self.reason}" if self.reason else "")


@define(eq=False)
class Answers:
    """The last error in answers to each kind of request."""

    errors: dict[int, Answer] = field(factory=dict)
    """By API key, the latest last."""

    @property
    def last(self) -> Answer | None:
        """The latest that no success has followed."""
        return next(reversed(self.errors.values()), None)

    def note(self, api_key: int, answers: Iterable[Answer]) -> None:
        """What a request was answered."""
        self.errors.pop(api_key, None)
        for each in answers:
            if each.code and each.code not in HARMLESS:
                self.errors[api_key] = each

    def listen(self, client: Any) -> None:
        """Hear what one of aiokafka's clients is answered."""
        ask, update = client.send, client.cluster.update_metadata

        async def listening(node: Any, request: Any, **named: Any) -> Any:
            is_produce = getattr(request, "API_KEY", None) == PRODUCE and request.required_acks != 0
            answer = await ask(node, _WithReasons(request) if is_produce else request, **named)
            self.note(getattr(answer, "API_KEY", -1), _answers(answer))
            return answer

        def updating(metadata: Any) -> Any:
            self.note(METADATA, (Answer(topic[0]) for topic in metadata.topics))
            return update(metadata)

        client.send, client.cluster.update_metadata = listening, updating

    def given_up(self, what: str, timeout_s: float, hint: str = "see 'tidegate status', and --timeout") -> CliError:
        """That it took too long: the broker's own words, if it has said any."""
        if self.last is None:
            return CannotReach(f"{what} within {timeout_s:g} s, and nobody says why", hint)
        said = HINTS.get(self.last.code, hint)
        return Refused(f"{what} within {timeout_s:g} s: the broker answers {self.last}", said, self.last.code)

    async def within(self, timeout_s: float, work: Coroutine[Any, Any, Result], what: str) -> Result:
        """Do what might never end; `what` has not happened if it does not."""
        try:
            # A connection that fails takes as long, and knows better why.
            return await asyncio.wait_for(work, timeout_s + GRACE_S)
        except TimeoutError:
            raise self.given_up(what, timeout_s) from None


def _answers(answer: Any) -> Iterator[Answer]:
    """The errors of an answer, of whatever kind."""
    if getattr(answer, "API_KEY", None) == PRODUCE:
        for _, partitions in answer.topics:
            for partition in partitions:
                reasons = partition[5:] if answer.API_VERSION >= FIRST_VERSION_WITH_REASONS else ((), None)
                yield Answer(partition[1], _reason(*reasons))
        return
    if (schema := getattr(answer, "SCHEMA", None)) is not None:
        yield from _errors(schema, [getattr(answer, name) for name in schema.names])


def _errors(schema: Any, values: Iterable[Any]) -> Iterator[Answer]:
    """What stands in fields named `error_code`, however deep."""
    for name, kind, value in zip(schema.names, schema.fields, values, strict=True):
        inner = getattr(kind, "array_of", None)
        if name == "error_code":
            yield Answer(value)
        elif hasattr(inner, "names"):
            for each in value or ():
                yield from _errors(inner, each)


def _reason(of_records: Iterable[tuple[int, str | None]] | None, of_batch: str | None) -> str:
    return next((text for _, text in of_records or () if text), of_batch or "")


@frozen
class _WithReasons:
    """A Produce request in the first version whose answer says why records are refused.

    aiokafka has that version, and leaves it out of those that it offers.
    """

    request: Any

    def prepare(self, versions: dict[int, tuple[int, int]]) -> Any:
        from aiokafka.protocol.produce import ProduceRequest_v8

        if versions.get(PRODUCE, (0, 0))[1] < FIRST_VERSION_WITH_REASONS:
            return self.request.prepare(versions)
        return self.request.build(ProduceRequest_v8)
