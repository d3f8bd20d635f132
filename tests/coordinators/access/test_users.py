"""Users in the catalogue: altered by KIP-554, looked up, and those that there are not."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinators.access.scram import SCRAM_SHA_256, SCRAM_SHA_512, credential_of
from coordinators.access.users import ScramDeletion, ScramUpsertion, Users
from coordinators.cluster.news import read_whole
from engine.catalogue.catalogue import Commit, Put
from engine.catalogue.memory import MemoryCatalogue
from engine.catalogue.user_records import USERS, UserRecord, access_secret
from engine.errors import (
    BrokerError,
    DuplicateResource,
    ResourceNotFound,
    UnacceptableCredential,
    UnsupportedSaslMechanism,
)

SECRET = b"s" * 32


def upsertion(name: str, mechanism: int = 1, iterations: int = 4096, salt: bytes = b"salt") -> ScramUpsertion:
    return ScramUpsertion(name, mechanism, iterations, salt, bytes(32 if mechanism == 1 else 64))


def alter(
    catalogue: MemoryCatalogue, *, put: tuple[ScramUpsertion, ...] = (), take: tuple[ScramDeletion, ...] = ()
) -> dict[str, BrokerError | None]:
    names, plan = Users.load(catalogue).planning(take, put)
    planned = plan()
    catalogue.commit(planned.commit)
    results = zip(names, planned.results, strict=True)
    return {name: each if isinstance(each, BrokerError) else None for name, each in results}


def loaded(catalogue: MemoryCatalogue) -> Users:
    users = Users.load(catalogue)
    users.take_secret(SECRET)
    return users


def test_a_user_has_a_password_for_each_mechanism_and_goes_with_the_last() -> None:
    catalogue = MemoryCatalogue()
    assert alter(catalogue, put=(upsertion("a"), upsertion("a", 2))) == {"a": None}
    assert set(loaded(catalogue).by_name["a"].scram) == {"SCRAM-SHA-256", "SCRAM-SHA-512"}
    assert alter(catalogue, take=(ScramDeletion("a", 1),)) == {"a": None}
    assert set(loaded(catalogue).by_name["a"].scram) == {"SCRAM-SHA-512"}
    alter(catalogue, take=(ScramDeletion("a", 2),))
    assert loaded(catalogue).by_name == {}
    assert catalogue.get("users/a") is None


@pytest.mark.parametrize(
    ("put", "take", "kind"),
    [
        ((upsertion("a", iterations=4095),), (), UnacceptableCredential),
        ((upsertion("a", iterations=16385),), (), UnacceptableCredential),
        ((upsertion(""),), (), UnacceptableCredential),
        ((upsertion("x" * 257),), (), UnacceptableCredential),
        ((upsertion("ANONYMOUS"),), (), UnacceptableCredential),
        ((upsertion("a", salt=b""),), (), UnacceptableCredential),
        ((ScramUpsertion("a", 2, 4096, b"salt", bytes(32)),), (), UnacceptableCredential),
        ((upsertion("a", 3),), (), UnsupportedSaslMechanism),
        ((upsertion("a"), upsertion("a")), (), DuplicateResource),
        ((upsertion("a"),), (ScramDeletion("a", 1),), DuplicateResource),
        ((), (ScramDeletion("a", 1),), ResourceNotFound),
    ],
)
def test_what_cannot_be_is_refused_and_others_go_on(
    put: tuple[ScramUpsertion, ...], take: tuple[ScramDeletion, ...], kind: type[BrokerError]
) -> None:
    catalogue = MemoryCatalogue()
    outcome = alter(catalogue, put=(*put, upsertion("fine")), take=take)
    assert outcome.pop("fine") is None
    assert [type(each) for each in outcome.values()] == [kind]
    assert list(loaded(catalogue).by_name) == ["fine"]


def test_users_are_described_by_name_or_all() -> None:
    catalogue = MemoryCatalogue()
    alter(catalogue, put=(upsertion("b"), upsertion("a")))
    users = loaded(catalogue)
    assert [name for name, _ in users.described(None)] == ["a", "b"]
    assert [name for name, _ in users.described([])] == ["a", "b"]
    found = dict(users.described(["a", "nobody", "b", "b"]))
    assert isinstance(found["a"], UserRecord)
    assert isinstance(found["nobody"], ResourceNotFound)
    assert isinstance(found["b"], DuplicateResource)


@pytest.mark.parametrize("salt", [b"\x01" * 24, b"abc123xyz0" * 2])
def test_one_who_is_not_there_looks_as_the_others_do_and_always_the_same(salt: bytes) -> None:
    catalogue = MemoryCatalogue()
    alter(catalogue, put=(upsertion("real", iterations=5000, salt=salt), upsertion("too", iterations=5000, salt=salt)))
    users = loaded(catalogue)
    kept, is_known = users.scram("nobody", SCRAM_SHA_256)
    assert not is_known
    assert (kept.iterations, len(kept.salt), kept.salt.isalnum()) == (5000, len(salt), salt.isalnum())
    assert loaded(catalogue).scram("nobody", SCRAM_SHA_256)[0] == kept, "after a restart too"
    others = [users.scram(name, SCRAM_SHA_256)[0].salt for name in ("nobody", "nobodx", "someone")]
    assert all(one != other for one, other in pairwise(others))
    assert users.scram("nobody", SCRAM_SHA_512)[0].salt != kept.salt
    alter(catalogue, put=(upsertion("odd", iterations=9000, salt=b"7"),))
    assert loaded(catalogue).scram("nobody", SCRAM_SHA_256)[0] == kept, "another user changes nothing"


def test_a_password_in_clear_is_checked_for_doors_that_are_sent_it() -> None:
    catalogue = MemoryCatalogue()
    record = UserRecord("a", {"SCRAM-SHA-512": credential_of(SCRAM_SHA_512, "sesame", bytes, 4096)})
    users = Users()
    users._replace("a", record, 1)
    users.take_secret(SECRET)
    assert users.has_password("a", "sesame")
    assert not users.has_password("a", "Sesame")
    assert not users.has_password("nobody", "sesame")
    assert catalogue.revision() == 0


def test_the_secret_is_made_once() -> None:
    catalogue = MemoryCatalogue()
    first = access_secret(catalogue, lambda size: b"1" * size)
    assert access_secret(catalogue, lambda size: b"2" * size) == first == b"1" * 32


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from([1, 2]), st.booleans()), max_size=12))
def test_whatever_is_altered_in_turn_the_rows_say_what_a_plain_model_says(
    steps: list[tuple[str, int, bool]],
) -> None:
    catalogue, model = MemoryCatalogue(), set[tuple[str, int]]()
    for name, mechanism, is_put in steps:
        if is_put:
            alter(catalogue, put=(upsertion(name, mechanism),))
            model.add((name, mechanism))
        else:
            outcome = alter(catalogue, take=(ScramDeletion(name, mechanism),))
            assert (outcome[name] is None) == ((name, mechanism) in model)
            model.discard((name, mechanism))
    numbers = {"SCRAM-SHA-256": 1, "SCRAM-SHA-512": 2}
    users = loaded(catalogue)
    assert {(name, numbers[each]) for name, record in users.by_name.items() for each in record.scram} == model
    assert sum(users._forms["SCRAM-SHA-256"].values()) == sum(mechanism == 1 for _, mechanism in model)


def test_a_password_that_was_right_lately_is_known_until_it_changes() -> None:
    catalogue = MemoryCatalogue()
    put_password(catalogue, "a", "first")
    users = loaded(catalogue)
    assert not users.is_known("a", "first")
    assert not users.has_password("a", "guess")
    assert not users.is_known("a", "guess")
    assert users.has_password("a", "first")
    assert users.is_known("a", "first")
    assert not users.is_known("a", "guess")
    put_password(catalogue, "a", "second")
    follow(users, catalogue)
    assert not users.is_known("a", "first")
    assert users.has_password("a", "second")
    alter(catalogue, take=(ScramDeletion("a", 1),))
    follow(users, catalogue)
    assert not users.is_known("a", "second")


def test_what_a_user_has_shown_counts_until_it_is_taken_away() -> None:
    catalogue = MemoryCatalogue()
    put_password(catalogue, "a", "first")
    users = loaded(catalogue)
    before, other = users.standing("a"), users.standing("b")
    put_password(catalogue, "a", "second")
    follow(users, catalogue)
    assert before(), "who has another password is the same user"
    alter(catalogue, take=(ScramDeletion("a", 1),))
    follow(users, catalogue)
    assert not before()
    assert other()
    put_password(catalogue, "a", "third")
    follow(users, catalogue)
    assert not before(), "another user of the same name"
    assert users.standing("a")()


def put_password(catalogue: MemoryCatalogue, name: str, password: str) -> None:
    kept = credential_of(SCRAM_SHA_256, password, bytes, 4096)
    record = UserRecord(name, {SCRAM_SHA_256.name: kept})
    catalogue.commit(Commit((), (Put(record.key, record.encode()),)))


def follow(users: Users, catalogue: MemoryCatalogue) -> None:
    """Take what the rows are now, as news."""
    revision, entries = catalogue.entries(USERS)
    users.take(read_whole(revision, entries, list(users.row_keys())))
