"""Batches that cost more than their size are small on the wire."""

import pytest

from engine.records.layout import checksum, parse_header, record_section, split_batches
from tools.fuzz.cost.batches import KINDS, batch


@pytest.mark.parametrize("kind", [kind for kind in KINDS if "tiny" not in kind and "bad" not in kind])
def test_a_batch_has_its_size_and_a_right_checksum(kind: str) -> None:
    made = batch(kind, 4000)
    assert 60 < len(made) <= 4400
    assert checksum(memoryview(made)) == parse_header(made).crc


def test_zeros_expand_a_thousandfold() -> None:
    ((header, view),) = split_batches(batch("zeros-zstd", 4000))
    assert len(record_section(header, view)) > 1000 * len(view)


def test_records_repeat_themselves_within_a_few_bytes() -> None:
    header = parse_header(batch("repeated-zstd", 4000))
    assert header.record_count > 100_000
