"""What an operation gathers."""

from coordinators.group.effects import Effects
from coordinators.runtime import Record
from engine.deferred import Deferred
from engine.errors import StorageError


def test_everything_gathered_is_in_the_outcome() -> None:
    effects, answered, refused = Effects(), Deferred[str](), Deferred[str]()
    effects.answer(answered, "told")
    effects.answer(None, "nobody hears it")
    effects.refuse(refused, StorageError("no"))
    effects.refuse(None, StorageError("nobody hears it"))
    effects.records.append(Record(b"k", b"v"))
    outcome = effects.answered_by("response")
    heard: list[object] = []
    for waiting in (answered, refused):
        waiting.when_settled(heard.append, heard.append)
    for complete in outcome.completions:
        complete(None)
    assert [str(each) for each in heard] == ["told", "no"]
    assert (list(outcome.records), outcome.response) == ([Record(b"k", b"v")], "response")
