"""One batch held against the schemas that its records name: what takes the loop, and what may take a thread.

    survey      (any thread)  which framings there are
    candidates  (the loop)    which schemas they mean, if the topic takes them
    verdict     (any thread)  what is wrong with which record

None of it changes the batch.
"""

from collections.abc import Iterator

from attrs import define, field

from coordinators.schemas.validation.framing import Survey, survey
from coordinators.schemas.validation.rules import KEY, PartRules, SchemaRules
from coordinators.schemas.validation.validators import Complaint, NamedSchema, Validators
from engine.errors import InvalidRecord

MOST_NAMED = 100
"""Records that a refusal names."""
SCHEMA = "schema"
"""The kind of fault by which refusals are counted."""
UNFRAMED = (
    "begins with no schema id: byte 0 and an id of four bytes are expected, or byte 1 and a guid, "
    "or the same in the header __{part}_schema_id"
)


@define(eq=False)
class Judging:
    """See the module. Of one batch of a topic."""

    validators: Validators
    topic: str
    rules: SchemaRules
    count: int
    survey: Survey = field(init=False)
    candidates: dict[tuple[str, bytes], NamedSchema | str] = field(factory=dict, init=False)

    def look(self, data: bytes) -> None:
        """[any thread] See what the records say of themselves."""
        self.survey = survey(data, self.count, self.rules)

    def find(self) -> None:
        """[loop] Find the schemas."""
        for part, framing in self.survey.wanted:
            found = self.validators.candidate(self.topic, self._of(part), framing)
            self.candidates[part, framing] = found

    @property
    def goes_by_ids(self) -> bool:
        """Whether no payload is looked into: then the verdict takes no time."""
        parts = (self.rules.key, self.rules.value)
        return not any(part is not None and (part.is_full or part.needs_name) for part in parts)

    @property
    def is_quick(self) -> bool:
        """Whether no schema has to be read first."""
        for (part, _), found in self.candidates.items():
            rules = self._of(part)
            must_read = isinstance(found, NamedSchema) and (rules.is_full or rules.needs_name)
            if must_read and isinstance(found, NamedSchema) and not self.validators.is_ready(found):
                return False
        return True

    def verdict(self) -> InvalidRecord | None:
        """[any thread] The refusal of the batch, if it has a fault."""
        faults = sorted(self._faults())
        return refusal(faults, self.count) if faults else None

    def _faults(self) -> Iterator[tuple[int, str]]:
        for index, part in self.survey.unframed:
            yield index, f"its {part} {UNFRAMED.format(part=part)}"
        # Most records name what the one before them named.
        complaints: dict[tuple[str, bytes], Complaint] = {}
        data = self.survey.data
        for record, part, framing, start, end, numbers in self.survey.framed:
            complain = complaints.get((part, framing))
            if complain is None:
                complain = complaints[part, framing] = self._complaint(part, framing)
            complaint = complain(numbers + data[start:end])
            if complaint is not None:
                yield record, f"its {part} {complaint}"

    def _complaint(self, part: str, framing: bytes) -> Complaint:
        """What tells what is wrong with payloads of a framing."""
        found, rules = self.candidates[part, framing], self._of(part)
        if isinstance(found, str):
            return lambda _: found
        if not rules.is_full and not rules.needs_name:
            return lambda _: None
        return self.validators.complaint(found, rules)

    def _of(self, part: str) -> PartRules:
        rules = self.rules.key if part == KEY else self.rules.value
        assert rules is not None, "only parts that have rules are looked at"
        return rules


def refusal(faults: list[tuple[int, str]], count: int) -> InvalidRecord:
    """Of a whole batch, naming the records at fault."""
    index, first = faults[0]
    others = f" (and {len(faults) - 1} more of {count})" if len(faults) > 1 else ""
    message = f"record {index}: {first}{others}"
    return InvalidRecord(message, record_errors=tuple(faults[:MOST_NAMED]), header_fault=SCHEMA)
