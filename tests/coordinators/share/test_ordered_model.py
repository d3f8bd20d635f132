"""Order by key against a model: whatever members do, no record of a key is held or given while one before it of the
same key is unsettled."""

from random import Random

import pytest

from coordinators.share.acquiring import OrderedAcquisition, ReadSpan, ShareWanted
from coordinators.share.runs import FINAL
from tests.coordinators.share.windows import Bench, check, rules

LOG_END = 80
ACCEPT, RELEASE, REJECT = 1, 2, 3


def take(bench: Bench, member: str, most: int, keys: dict[int, bytes | None]) -> list[tuple[int, int, int]]:
    window = bench.window
    spans = [ReadSpan(base, base + 9) for base in range(window.start - window.start % 10, LOG_END, 10)]
    wanted = ShareWanted(member, most)
    ordered = OrderedAcquisition(window, spans, wanted, bench.settings, bench.now, keys, LOG_END - 1)
    taken = ordered.carry_out(window.start)
    check(window)
    return [tuple(each) for each in taken]  # type: ignore[misc]


@pytest.mark.parametrize("seed", range(20))
def test_keys_are_given_one_by_one(seed: int) -> None:
    chance = Random(seed)
    keys = {offset: chance.choice([b"a", b"b", b"c", b"d", None]) for offset in range(LOG_END)}
    bench = Bench(rules(max_record_locks=25, delivery_count_limit=4), log_end=LOG_END)
    held: dict[int, str] = {}
    settled: set[int] = set()
    given: dict[bytes, list[int]] = {}
    for _ in range(4000):
        member = chance.choice(["m1", "m2", "m3"])
        for first, last, _count in take(bench, member, chance.randint(1, 6), keys):
            for offset in range(first, last + 1):
                key = keys[offset]
                assert offset not in held
                held[offset] = member
                if key is not None:
                    before = [o for o in range(offset) if keys[o] == key and o not in settled]
                    assert not before, "one before it is unsettled"
                    given.setdefault(key, []).append(offset)
        for offset, owner in list(held.items()):
            if chance.random() < 0.5:
                bench.settle(offset, offset, chance.choice([ACCEPT, ACCEPT, RELEASE, REJECT]), member=owner)
                del held[offset]
        live = {o for run in bench.window.runs if run.state not in FINAL for o in range(run.first, run.last + 1)}
        settled = {offset for offset in range(bench.window.end) if offset not in live}
        if bench.window.start == LOG_END:
            break
    assert bench.window.start == LOG_END
    assert all(offsets == sorted(offsets) for offsets in given.values())
