"""What is known of a batch beforehand."""

from engine.log.types import LogConfig
from engine.records.compression import ZSTD, decompress
from engine.records.layout import pack_record
from engine.records.opened import OpenedRecords

SECTION = b"".join(pack_record(index, 0, None, b"value") for index in range(3))


def test_the_walk_is_done_once() -> None:
    opened = OpenedRecords(SECTION)
    opened.walk(3)
    assert (opened.is_walked, opened.unsound) == (True, None)
    opened.section = b""
    opened.walk(3)
    assert opened.unsound is None
    other = OpenedRecords(SECTION)
    other.walk(2)
    assert other.unsound == (2, len(SECTION) * 2 // 3)


def test_it_is_compressed_as_the_topic_wants_it() -> None:
    opened = OpenedRecords(SECTION)
    opened.recompress(ZSTD, LogConfig(compression_zstd_level=19))
    assert opened.recompressed is not None
    codec, content = opened.recompressed
    assert (codec, decompress(codec, content)) == (ZSTD, SECTION)
