"""Values that name no schema, held against the latest one of a subject (`schema.subject`): plain JSON."""

from attrs import define

from coordinators.schemas.validation.framing import plain_values
from coordinators.schemas.validation.judging import refusal
from coordinators.schemas.validation.stamping import stamped
from coordinators.schemas.validation.validators import NamedSchema, Validators, fault
from engine.errors import InvalidRecord
from engine.records.batch import Batch

JSON = "JSON"


@define(eq=False)
class PlainJudging:
    """One batch, and the schema that it is held against."""

    validators: Validators
    candidate: NamedSchema

    @classmethod
    def find(cls, validators: Validators, subject: str, topic: str = "") -> "PlainJudging":
        """[loop] By the subject's latest version; refuses where there is none that describes JSON."""
        candidate = validators.latest(subject, topic)
        if candidate is None:
            raise InvalidRecord(f"no schema is registered under {subject}, the topic's schema.subject")
        if candidate.row.type != JSON:
            raise InvalidRecord(f"the latest schema of {subject}, the topic's schema.subject, is no JSON Schema")
        return cls(validators, candidate)

    def stamped(self, batch: Batch, section: bytes, level: int | None) -> Batch:
        """[thread] The batch with the schema's id in its records; raises the refusal if one does not fit."""
        compiled = self.validators.compiled(self.candidate)
        if isinstance(compiled, str):
            raise InvalidRecord(f"a value {compiled}")
        faults = []
        for index, start, end in plain_values(section, batch.header.record_count):
            complaint = fault(compiled, self.candidate, section[start:end])
            if complaint is not None:
                faults.append((index, f"its value {complaint}"))
        if faults:
            raise refusal(faults, batch.header.record_count)
        return stamped(batch, section, self.candidate.row.id, level)
