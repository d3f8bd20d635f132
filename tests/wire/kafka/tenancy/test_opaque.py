"""Names within the consumers' protocol of classic groups."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinators.group.consumer.protocol import Malformed, read_assignment, read_subscription, write_assignment
from wire.kafka.codec import WireError
from wire.kafka.tenancy.opaque import renamed_assignment, renamed_subscription, told_assignment, told_subscription

topics = st.lists(st.from_regex(r"[a-zA-Z0-9._-]{1,20}", fullmatch=True).filter(lambda name: name not in (".", "..")))
places = st.dictionaries(topics.filter(bool).map(lambda some: some[0]), st.frozensets(st.integers(0, 99)), max_size=4)


def subscription(version: int, names: list[str], user_data: bytes, owned: dict[str, frozenset[int]]) -> bytes:
    parts = [struct.pack(">hi", version, len(names))]
    parts += [struct.pack(">h", len(name)) + name.encode() for name in names]
    parts += [struct.pack(">i", len(user_data)), user_data]
    if version >= 1:
        parts.append(write_assignment(owned, 0)[2:-4])
    if version >= 2:
        parts.append(struct.pack(">i", 7))
    if version >= 3:
        parts.append(struct.pack(">h", 4) + b"rack")
    return b"".join(parts)


def prefixed(name: str) -> str:
    return f"acme.{name}"


def bare(name: str) -> str:
    return name.removeprefix("acme.")


@given(st.integers(0, 5), topics, st.binary(max_size=20), places)
def test_a_subscription_there_and_back(
    version: int, names: list[str], user_data: bytes, owned: dict[str, frozenset[int]]
) -> None:
    data = subscription(version, names, user_data, owned)
    renamed = renamed_subscription(data, prefixed)
    read = read_subscription(renamed)
    assert read.topics == tuple(map(prefixed, names))
    assert read.owned == ({prefixed(name): held for name, held in owned.items()} if version else {})
    assert read.rack_id == ("rack" if version >= 3 else None)
    assert user_data in renamed
    assert renamed_subscription(renamed, bare) == data


@given(places, st.integers(0, 5))
def test_an_assignment_there_and_back(held: dict[str, frozenset[int]], version: int) -> None:
    data = struct.pack(">h", version) + write_assignment(held, 0)[2:]
    renamed = renamed_assignment(data, prefixed)
    assert read_assignment(renamed)[0] == {prefixed(name): each for name, each in held.items()}
    assert renamed_assignment(renamed, bare) == data


@given(st.binary(max_size=60))
def test_anything_else_is_left_alone_or_comes_back(data: bytes) -> None:
    for rename in (renamed_subscription, renamed_assignment):
        renamed = rename(data, prefixed)
        assert rename(renamed, bare) == data or renamed == data


def test_what_connect_says_of_itself_is_left_alone() -> None:
    url = b"http://worker:8083/"
    data = struct.pack(">hh", 0, len(url)) + url + struct.pack(">q", 17)
    assert renamed_subscription(data, prefixed) == data


@given(st.binary(max_size=60))
def test_the_broker_never_reads_a_name_that_was_not_renamed(data: bytes) -> None:
    marked = "acme."
    for told, read in (
        (told_subscription, lambda some: [*read_subscription(some).topics, *read_subscription(some).owned]),
        (told_assignment, lambda some: [*read_assignment(some)[0]]),
    ):
        try:
            found = read(told(data, prefixed))
        except (WireError, Malformed):
            continue
        assert all(name.startswith(marked) for name in found)


@pytest.mark.parametrize(("version", "names"), [(-1, ["zulu.orders"]), (0, ["zulu.orders", "not a name"])])
def test_names_that_cannot_be_renamed_are_refused(version: int, names: list[str]) -> None:
    with pytest.raises(WireError):
        told_subscription(subscription(version, names, b"", {}), prefixed)
    places = {name: frozenset({0}) for name in names}
    with pytest.raises(WireError):
        told_assignment(struct.pack(">h", version) + write_assignment(places, 0)[2:], prefixed)


def test_what_connect_assigns_is_passed_on() -> None:
    leader, url = b"connect-1-6ba7b810", b"http://worker:8083/"
    data = struct.pack(">hhh", 0, 0, len(leader)) + leader + struct.pack(">h", len(url)) + url
    data += struct.pack(">qi", 17, 0)
    assert told_assignment(data, prefixed) == data
    said = struct.pack(">hh", 1, len(url)) + url + struct.pack(">q", 17)
    assert told_subscription(said, prefixed) == said
