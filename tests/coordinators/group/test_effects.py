"""What an operation gathers."""

from coordinators.deferred import Deferred
from coordinators.group.effects import Effects
from coordinators.runtime import Record


def test_everything_gathered_is_in_the_outcome() -> None:
    effects, waiting = Effects(), Deferred()
    effects.answer(waiting, "told")
    effects.answer(None, "nobody hears it")
    effects.records.append(Record(b"k", b"v"))
    outcome = effects.outcome("response")
    assert list(outcome.completions) == [(waiting, "told")]
    assert (list(outcome.records), outcome.response) == ([Record(b"k", b"v")], "response")
