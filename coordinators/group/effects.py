"""What an operation gathers while it decides: records to write and answers that others wait for."""

from typing import Any, TypeVar

from attrs import define, field

from coordinators.runtime import Completion, Outcome, Record, answered, refused
from engine.deferred import Deferred
from engine.errors import BrokerError

R = TypeVar("R")


@define(eq=False)
class Effects:
    """An outcome in the making."""

    records: list[Record] = field(factory=list)
    completions: list[Completion] = field(factory=list)
    # Whether soft state is ahead of the records already: should they be refused, the shard is loaded again.
    reload_if_refused: bool = False

    def answer(self, waiting: Deferred[R] | None, response: R) -> None:
        """Answer somebody, if anybody waits."""
        if waiting is not None:
            self.completions.append(answered(waiting, response))

    def refuse(self, waiting: Deferred[Any] | None, error: BrokerError) -> None:
        """Refuse somebody, if anybody waits."""
        if waiting is not None:
            self.completions.append(refused(waiting, error))

    def outcome(self) -> Outcome[None]:
        """What follows for others alone."""
        return self.answered_by(None)

    def answered_by(self, response: R | Deferred[R]) -> Outcome[R]:
        """The same, and an answer to who asked."""
        return Outcome(
            records=self.records,
            response=response,
            completions=self.completions,
            reload_if_refused=self.reload_if_refused,
        )
