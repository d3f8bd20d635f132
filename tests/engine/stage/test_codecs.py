"""Released records are stored in the codec that their client sent them in, after a restart and a move too."""

import os

import pytest
from aiokafka.record.default_records import DefaultRecordBatch

from engine.clock import ManualClock
from engine.log.types import LogConfig
from engine.records.compression import GZIP, LZ4, NONE, SNAPPY, ZSTD
from engine.records.layout import BatchHeader, checksum, split_batches
from engine.stage.codecs import COMPRESSED_AT_ONCE_BYTES, codec_for, in_codecs, is_quick
from engine.stage.config import ExtensionConfig
from engine.stage.repack import hole_batch, released_batch
from tests.engine.logs import NOW_MS
from tests.engine.stage.world import Leader, Node, client_batch, parse, read_batches, record, reopened

CODECS = (GZIP, SNAPPY, LZ4, ZSTD)


def built(codec: int, value: bytes = b"x" * 500) -> bytes:
    staged = client_batch([record(value)])[61:]
    return released_batch([(staged, NOW_MS)], NOW_MS, codec)


def header_of(batches: bytes) -> BatchHeader:
    ((header, batch),) = split_batches(batches)
    assert checksum(batch) == header.crc
    return header


def lead(**config: str) -> Leader:
    return Leader(Node(ManualClock(NOW_MS)), ExtensionConfig(**config))  # type: ignore[arg-type]


def stored(leader: Leader) -> list[tuple[int, list[bytes]]]:
    """Codec and values of each batch in the log."""
    log = leader.partition.log
    return [
        (header.codec, [one.value[:3] for one in parse(batch)])
        for header, batch in read_batches(log, log.start_offset)
        if not header.is_control
    ]


@pytest.mark.parametrize("codec", CODECS)
def test_a_batch_is_put_in_the_codec_that_it_asks_for(codec: int) -> None:
    data = in_codecs(built(codec), LogConfig())
    header = header_of(data)
    assert (header.attributes, header.record_count) == (codec, 1)
    assert len(data) < 300
    assert [one.value for one in DefaultRecordBatch(data)] == [b"x" * 500]


@pytest.mark.parametrize("codec", [NONE, *CODECS])
def test_the_topics_own_codec_goes_first(codec: int) -> None:
    assert header_of(in_codecs(built(codec), LogConfig(compression_type="zstd"))).attributes == ZSTD
    assert header_of(in_codecs(built(codec), LogConfig(compression_type="uncompressed"))).attributes == NONE


def test_what_would_only_grow_stays_as_it_is() -> None:
    noise = os.urandom(100)
    data = in_codecs(built(GZIP, noise), LogConfig())
    assert header_of(data).attributes == NONE
    assert [one.value for one in DefaultRecordBatch(data)] == [noise]


def test_holes_are_left_alone() -> None:
    hole = hole_batch(3, NOW_MS)
    assert codec_for(header_of(hole), LogConfig(compression_type="gzip")) == NONE
    assert in_codecs(hole, LogConfig(compression_type="gzip")) == hole


def test_much_to_compress_is_not_for_the_loop() -> None:
    large = built(LZ4, bytes(COMPRESSED_AT_ONCE_BYTES))
    assert not is_quick(large, LogConfig())
    assert is_quick(large, LogConfig(compression_type="uncompressed"))
    assert is_quick(built(NONE, bytes(COMPRESSED_AT_ONCE_BYTES)), LogConfig())


def test_delayed_records_keep_their_codec_over_a_restart_and_a_move() -> None:
    leader = lead()
    leader.append(client_batch([record(b"zst" * 40, delay=10), record(b"two" * 40, delay=10)], codec=ZSTD))
    leader.append(client_batch([record(b"raw" * 40, delay=20)]))
    leader.append(client_batch([record(b"lz4" * 40, delay=30)], codec=LZ4))
    leader.stage.move(list(leader.state.table.rows()))
    leader.checkpoint()
    leader = reopened(leader)
    for _ in range(3):
        leader.node.clock.advance_ms(10)
        leader.run_due()
    assert stored(leader) == [(ZSTD, [b"zst"]), (ZSTD, [b"two"]), (NONE, [b"raw"]), (LZ4, [b"lz4"])]


def test_runs_in_lanes_keep_their_codec() -> None:
    leader = lead(priority_enable="true")
    leader.append(client_batch([record(b"one" * 40), record(b"two" * 40)], codec=GZIP))
    leader.append(client_batch([record(b"raw" * 40), record(b"raw" * 40)]))
    leader = reopened(leader)
    leader.linearise(0)
    assert [codec for codec, _ in stored(leader)] == [GZIP, GZIP, NONE, NONE]
