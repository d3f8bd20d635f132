"""Names within the consumers' protocol of classic groups."""

import struct

from hypothesis import given
from hypothesis import strategies as st

from coordinators.group.consumer.protocol import read_assignment, read_subscription, write_assignment
from wire.kafka.tenancy.opaque import renamed_assignment, renamed_subscription

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


@given(st.integers(0, 3), topics, st.binary(max_size=20), places)
def test_a_subscription_there_and_back(
    version: int, names: list[str], user_data: bytes, owned: dict[str, frozenset[int]]
) -> None:
    data = subscription(version, names, user_data, owned)
    renamed = renamed_subscription(data, prefixed)
    read = read_subscription(renamed)
    assert read.topics == tuple(map(prefixed, names))
    assert read.owned == ({prefixed(name): held for name, held in owned.items()} if version else {})
    assert read.rack_id == ("rack" if version == 3 else None)
    assert user_data in renamed
    assert renamed_subscription(renamed, bare) == data


@given(places, st.integers(0, 3))
def test_an_assignment_there_and_back(held: dict[str, frozenset[int]], version: int) -> None:
    data = write_assignment(held, version)
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
