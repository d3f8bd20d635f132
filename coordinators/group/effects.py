"""What an operation gathers while it decides: records to write and answers that others wait for."""

from typing import Any

from attrs import define, field

from coordinators.deferred import Deferred
from coordinators.runtime import Outcome, Record


@define(eq=False)
class Effects:
    """An outcome in the making."""

    records: list[Record] = field(factory=list)
    completions: list[tuple[Deferred, Any]] = field(factory=list)
    # Whether soft state is ahead of the records already: should they be refused, the shard is loaded again.
    reload_if_refused: bool = False

    def answer(self, waiting: Deferred | None, response: Any) -> None:
        """Answer somebody, if anybody waits."""
        if waiting is not None:
            self.completions.append((waiting, response))

    def outcome(self, response: Any = None) -> Outcome:
        return Outcome(
            records=self.records,
            response=response,
            completions=self.completions,
            reload_if_refused=self.reload_if_refused,
        )
