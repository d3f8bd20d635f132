"""Fates against a list of what happened."""

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from engine.stage import fates as module
from engine.stage.fates import CHUNK_ENTRIES, FateKind, Fates, RememberedFate, id_hash

IDS = st.sampled_from((1, 2, 3, 5, 8, 2**63 - 1))
DAY_MS = 86_400_000


def encoded(fates: Fates) -> bytes:
    return b"".join(fates.encode())


class FatesMachine(RuleBasedStateMachine):
    """Fates in chunks of three, and the list. What is old may be forgotten, nothing else."""

    @initialize()
    def start(self) -> None:
        self.chunk_entries = module.CHUNK_ENTRIES
        module.CHUNK_ENTRIES = 3
        self.fates = Fates()
        self.model: list[tuple[int, RememberedFate]] = []
        self.now_ms = 1_000
        self.forgotten_before_ms = 0

    @rule(key=IDS, kind=st.sampled_from(FateKind), offset=st.integers(-1, 2**63 - 1))
    def note(self, key: int, kind: FateKind, offset: int) -> None:
        self.fates.note(key, kind, offset, self.now_ms)
        self.model.append((key, RememberedFate(kind, offset, self.now_ms)))

    @rule(step=st.sampled_from([-100, 1, 100, DAY_MS]))
    def move_the_clock(self, step: int) -> None:
        self.now_ms += step

    @rule(age_ms=st.sampled_from([0, 50, 1_000, DAY_MS]))
    def expire(self, age_ms: int) -> None:
        self.fates.expire(self.now_ms - age_ms)
        self.forgotten_before_ms = max(self.forgotten_before_ms, self.now_ms - age_ms)

    @rule()
    def restart(self) -> None:
        data = encoded(self.fates)
        self.fates, end = Fates.decode(b"?" + data, 1)
        assert end == len(data) + 1
        assert encoded(self.fates) == data

    @rule(key=IDS)
    def look(self, key: int) -> None:
        known = [fate for each, fate in self.model if each == key]
        found = self.fates.get(key)
        if found is None:
            assert all(fate.at_ms < self.forgotten_before_ms for fate in known)
            return
        # The latest, unless that is so old that it may have been forgotten (the clock may have gone back).
        assert found in known
        later = known[len(known) - known[::-1].index(found) :]
        assert all(fate.at_ms < self.forgotten_before_ms for fate in later)

    @invariant()
    def holds_what_is_not_old(self) -> None:
        if hasattr(self, "fates"):
            young = sum(fate.at_ms >= self.forgotten_before_ms for _, fate in self.model)
            assert young <= len(self.fates) <= len(self.model)

    def teardown(self) -> None:
        if hasattr(self, "chunk_entries"):
            module.CHUNK_ENTRIES = self.chunk_entries


TestFates = FatesMachine.TestCase
TestFates.settings = settings(max_examples=80, stateful_step_count=40)


def test_the_latest_fate_counts() -> None:
    fates = Fates()
    fates.note(7, FateKind.CANCELLED, -1, 10)
    fates.note(6, FateKind.EXPIRED, -1, 15)
    fates.note(7, FateKind.DELIVERED, 33, 20)
    assert fates.get(7) == RememberedFate(FateKind.DELIVERED, 33, 20)
    assert fates.get(6) == RememberedFate(FateKind.EXPIRED, -1, 15)
    assert fates.get(5) is None


def test_a_fate_is_kept_for_its_time_and_not_for_ever() -> None:
    fates = Fates()
    for hour in range(24 * 10):
        now_ms = hour * 3_600_000
        fates.note(hour + 1, FateKind.DELIVERED, hour, now_ms)
        fates.expire(now_ms - DAY_MS)
        assert all(fates.get(known + 1) for known in range(max(hour - 24, 0), hour))
        assert fates.get(hour + 1 - 50) is None
    assert len(fates) <= 50


def test_the_number_of_entries_is_bounded() -> None:
    fates = Fates(max_entries=10_000)
    for number in range(30_000):
        fates.note(number + 1, FateKind.DELIVERED, number, 0)
        assert len(fates) <= 10_000
    assert len(fates) > 10_000 - CHUNK_ENTRIES
    assert fates.get(30_000) == RememberedFate(FateKind.DELIVERED, 29_999, 0)
    assert fates.get(1) is None
    assert len(encoded(fates)) < len(fates) * 24.1


@pytest.mark.parametrize("values", [(0, -1, 0), (-1, -1, 0), (2**63, -1, 0), (1, -2, 0), (1, 2**63, 0), (1, -1, 2**60)])
def test_what_cannot_be_is_refused(values: tuple[int, int, int]) -> None:
    fates = Fates()
    with pytest.raises(ValueError, match="id hash"):
        fates.note(values[0], FateKind.DELIVERED, *values[1:])
    assert len(fates) == 0
    assert encoded(fates) == encoded(Fates())


@given(st.binary(max_size=300))
def test_the_hash_of_an_id_is_a_positive_number_of_63_bits(schedule_id: bytes) -> None:
    assert 0 < id_hash(schedule_id) < 2**63
    assert id_hash(schedule_id) == id_hash(bytes(bytearray(schedule_id)))


def test_ids_are_told_apart_and_hashed_alike_for_ever() -> None:
    assert len({id_hash(b"order-%d" % number) for number in range(10_000)}) == 10_000
    # It stands in checkpoints: another hash would need another format.
    assert id_hash(b"order-1") == 2709196713320186429


@given(st.integers(0, 3), st.data())
@settings(max_examples=200)
def test_damage_is_refused_or_gives_fates(count: int, data: st.DataObject) -> None:
    fates = Fates()
    for number in range(count):
        fates.note(number + 1, FateKind.EXPIRED, number, 1_000)
    damaged = bytearray(encoded(fates))
    damaged[data.draw(st.integers(0, len(damaged) - 1))] ^= data.draw(st.integers(1, 255))
    for each in (damaged, damaged[: data.draw(st.integers(0, len(damaged)))]):
        try:
            decoded, end = Fates.decode(each, 0)
        except ValueError:
            continue
        assert end <= len(each)
        decoded.get(1)
        decoded.note(9, FateKind.DELIVERED, 4, 2_000)
        assert decoded.get(9) == RememberedFate(FateKind.DELIVERED, 4, 2_000)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        bytes(8),
        struct.pack("<II", 0, 2),
        struct.pack("<II", 2**32 - 1, 1),
        struct.pack("<III", 1, 0, 0),
        struct.pack("<III", 1, 0, 2**32 - 1),
        struct.pack("<IIIqqq", 1, 0, 1, 0, 0, 0),
        struct.pack("<IIIqqq", 1, 0, 1, 1, -2, 0),
        struct.pack("<IIIqqq", 1, 0, 1, 1, 0, 3),
        struct.pack("<IIIqqqqqq", 1, 0, 2, 2, 1, 0, 0, 0, 0),
    ],
)
def test_nonsense_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError):
        Fates.decode(data, 0)
