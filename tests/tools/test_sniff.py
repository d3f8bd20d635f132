"""The benchmark of the sniff measures what it says, on batches of the sizes that it says."""

import pytest

from engine.records.layout import walk_records
from engine.stage.headers import sniff
from tools.bench.sniff import CARRIED, main, measure, opening, section


@pytest.mark.parametrize("payload", ["random", "json"])
@pytest.mark.parametrize("record_bytes", [100, 1024])
def test_batches_have_the_size_and_the_records_that_are_asked_for(payload: str, record_bytes: int) -> None:
    data, count = section(payload, record_bytes, 16 * 1024)
    assert 16 * 1024 <= len(data) < 16 * 1024 + record_bytes + 50
    assert {len(record.value or b"") for record in walk_records(data, count)} == {record_bytes}
    assert not sniff(data)


def test_a_compressed_batch_is_smaller_and_takes_time_to_unpack() -> None:
    line = measure("zstd", "json", 100, 16 * 1024, rounds=1)
    assert line.stored_bytes < line.section_bytes
    assert line.decompress_us
    assert line.per_record_us == (line.decompress_us + line.sniff_us) / line.records


def test_an_uncompressed_batch_is_searched_as_it_is() -> None:
    line = measure("uncompressed", "random", 100, 16 * 1024, rounds=1)
    assert (line.decompress_us, line.stored_bytes) == (None, line.section_bytes)


@pytest.mark.parametrize("name", CARRIED)
def test_batches_with_headers_are_opened(name: str) -> None:
    assert min(opening(CARRIED[name], 100, rounds=1)) > 0


def test_an_unknown_option_is_refused() -> None:
    with pytest.raises(SystemExit):
        main(["--no-such-option"])
