"""A batch is read once: what was found out about it is kept."""

import pytest

from engine.errors import CorruptMessage, InvalidRecord
from engine.log.types import LogConfig, Origin
from engine.records import batch as module
from engine.records.batch import split, whole
from engine.records.compression import GZIP, ZSTD, TooLargeDecompressed, compress, decompress
from engine.records.layout import HEADER_SIZE, checksum, parse_header, seal_batch
from tests.engine.logs import NOW_MS, batch, memory_files, open_log


def _zipped() -> bytes:
    plain = batch(3, size=50)
    return seal_batch(parse_header(plain)._replace(attributes=GZIP), compress(GZIP, plain[HEADER_SIZE:]))


def _computed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The checksums that are computed from here on."""
    computed: list[int] = []

    def counted(data: memoryview) -> int:
        computed.append(checksum(data))
        return computed[-1]

    monkeypatch.setattr(module, "checksum", counted)
    return computed


def test_it_is_one_whole_batch() -> None:
    assert whole(batch(3)).header.record_count == 3
    assert [one.header.record_count for one in split(batch(1) + batch(2), Origin.REPLICA)] == [1, 2]
    with pytest.raises(InvalidRecord, match="2 batches"):
        whole(batch(1) + batch(2))
    with pytest.raises(CorruptMessage):
        whole(batch(1)[:-1])


def test_a_wrong_checksum_is_found_and_a_right_one_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    damaged = bytearray(batch())
    damaged[-1] ^= 1
    with pytest.raises(CorruptMessage):
        whole(damaged).verify()
    sent, computed = whole(batch()), _computed(monkeypatch)
    sent.verify()
    sent.verify()
    assert computed == [sent.header.crc]


def test_the_log_does_not_verify_again_what_was_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    sent, computed = whole(batch()), _computed(monkeypatch)
    sent.verify()
    log = open_log(memory_files(), config=LogConfig(compression_type="zstd"))
    log.append_batch(sent, 0)
    assert (log.end_offset, len(computed)) == (1, 1)


def test_records_are_uncompressed_once_and_within_a_bound() -> None:
    plain, sent = whole(batch(3, size=50)), whole(_zipped())
    with pytest.raises(TooLargeDecompressed):
        sent.section(10)
    opened = sent.section()
    assert opened == plain.section()
    assert sent.section(10) is opened


def test_records_are_read_over_once() -> None:
    for sent in (whole(batch(3, size=50)), whole(_zipped())):
        buffer, start = sent.walked()
        assert (bytes(buffer[start:]), sent.unsound) == (batch(3, size=50)[HEADER_SIZE:], None)
    wrong = whole(seal_batch(parse_header(batch(3))._replace(record_count=2), batch(3)[HEADER_SIZE:]))
    wrong.walked()
    assert wrong.unsound is not None
    wrong.data = memoryview(b"")
    wrong.walked()
    assert wrong.unsound[0] == 2


def test_records_are_compressed_anew_once() -> None:
    sent = whole(_zipped())
    made = sent.recompress(ZSTD, 19)
    assert decompress(ZSTD, made) == sent.section()
    assert sent.recompress(ZSTD, 19) is made


def test_a_copy_does_not_change_with_the_buffer_that_it_came_in() -> None:
    data = batch(3, timestamp_ms=NOW_MS)
    buffer = bytearray(data)
    sent = whole(memoryview(buffer))
    copied = sent.copied()
    buffer[:] = bytes(len(buffer))
    assert (copied.data, copied.section()) == (data, data[HEADER_SIZE:])
    assert bytes(sent.data) != data


def test_what_was_stored_is_let_go_and_a_bare_copy_holds_no_more_than_its_bytes() -> None:
    sent = whole(_zipped())
    sent.section()
    bare = sent.bare()
    sent.let_go()
    assert (len(sent.data), sent.opened) == (0, None)
    assert (bytes(bare.data), bare.opened) == (_zipped(), None)
