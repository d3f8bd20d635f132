"""Single records of a log, read from whole batches in threads, within bounds."""

import pytest
from trio.testing import trio_test

from coordinators.share.source_records import SourceRecord, read_records
from engine.errors import StorageError
from engine.records.compression import GZIP, ZSTD
from tests.coordinators.conftest import Desk
from tests.coordinators.share.letter_bench import LetterBench

PLENTY = 1 << 20


@pytest.fixture
def bench(desk: Desk) -> LetterBench:
    return LetterBench(desk)


async def read(
    bench: LetterBench, *offsets: int, bound: int = PLENTY, most_bytes: int = PLENTY
) -> tuple[dict[int, SourceRecord], int]:
    opener = bench.letters.writing.publishing.opener
    return await read_records(bench.partition(bench.topic), offsets, opener, bound, most_bytes)


@trio_test
async def test_records_of_several_batches_and_codecs(bench: LetterBench) -> None:
    await bench.create()
    bench.write("a", "b", "c")
    bench.write("d", "e", codec=GZIP)
    bench.write("f", codec=ZSTD)
    found, looked = await read(bench, 1, 2, 4, 5)
    assert looked == 4
    assert {offset: record.value for offset, record in found.items()} == {1: b"b", 2: b"c", 4: b"e", 5: b"f"}
    assert found[1].headers == ((b"own", b"1"),)
    assert found[2].timestamp_ms == bench.clock.now_ms() + 2


@trio_test
async def test_what_is_gone_is_left_out(bench: LetterBench) -> None:
    await bench.create()
    bench.write("a", "b", "c")
    bench.write("d")
    bench.partition(bench.topic).delete_records(2)
    found, looked = await read(bench, 0, 1, 2, 3)
    assert (looked, list(found)) == (4, [2, 3])


@trio_test
async def test_much_is_read_in_portions_and_at_least_one_record(bench: LetterBench) -> None:
    await bench.create()
    for letter in "abcd":
        bench.write(letter * 1_000)
    found, looked = await read(bench, 0, 1, 2, 3, most_bytes=1_500)
    assert (looked, list(found)) == (2, [0, 1])
    found, looked = await read(bench, 3, most_bytes=1)
    assert (looked, list(found)) == (1, [3])


@trio_test
async def test_a_batch_that_is_too_large_to_be_opened_is_not(bench: LetterBench) -> None:
    await bench.create()
    bench.write("x" * 10_000, codec=GZIP)
    bench.write("y")
    found, looked = await read(bench, 0, 1, bound=1_000)
    assert (looked, list(found)) == (2, [1])
    assert bench.letters.writing.publishing.opener.room.statistics() == {"held_bytes": 0, "waiting": 0}


@trio_test
async def test_what_cannot_be_read_now_is_an_error_and_not_gone(bench: LetterBench) -> None:
    await bench.create()
    bench.write("a")
    with pytest.raises(StorageError):
        await read(bench, 1)
