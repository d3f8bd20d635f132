"""Codecs: what Kafka's clients write is read, ours is read by them, and bombs stop at the bound."""

import contextlib
import gzip
import struct

import aiokafka.codec as peer
import cramjam
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import BrokerError, CorruptMessage, UnsupportedCompressionType
from engine.records import compression
from engine.records.compression import CODECS, GZIP, LZ4, NONE, SNAPPY, ZSTD, compress, decompress

PAYLOADS = (b"", b"x", b"hello " * 1000, bytes(range(256)) * 1000)
PEERS = {
    GZIP: (peer.gzip_encode, peer.gzip_decode),
    SNAPPY: (peer.snappy_encode, peer.snappy_decode),
    LZ4: (peer.lz4_encode, peer.lz4_decode),
    ZSTD: (peer.zstd_encode, peer.zstd_decode),
}


@pytest.mark.parametrize("codec", CODECS.values())
@pytest.mark.parametrize("payload", PAYLOADS, ids=len)
def test_what_is_compressed_comes_back(codec: int, payload: bytes) -> None:
    assert decompress(codec, compress(codec, payload)) == payload


@pytest.mark.parametrize("codec", PEERS)
@pytest.mark.parametrize("payload", PAYLOADS[1:], ids=len)
def test_a_client_reads_ours_and_we_read_a_clients(codec: int, payload: bytes) -> None:
    encode, decode = PEERS[codec]
    assert decode(compress(codec, payload)) == payload
    assert decompress(codec, encode(payload)) == payload


def test_lz4_blocks_are_independent_as_java_demands() -> None:
    flags = compress(LZ4, b"x" * 1000)[4]
    assert flags & 0x20


def test_raw_snappy_is_read() -> None:
    assert decompress(SNAPPY, bytes(cramjam.snappy.compress_raw(b"abc" * 100))) == b"abc" * 100


def test_several_gzip_members_are_one_stream() -> None:
    assert decompress(GZIP, gzip.compress(b"one ") + gzip.compress(b"two")) == b"one two"


@pytest.mark.parametrize("codec", [GZIP, SNAPPY, LZ4, ZSTD])
def test_a_bomb_stops_at_the_bound(codec: int) -> None:
    bomb = compress(codec, bytes(4_000_000))
    with pytest.raises(CorruptMessage, match="larger than 1000000 bytes"):
        decompress(codec, bomb, 1_000_000)
    assert len(decompress(codec, bomb, 4_000_000)) == 4_000_000


@pytest.mark.parametrize("size", [-1, 0, 2**31 - 1, 1000])
def test_a_snappy_block_length_is_not_trusted(size: int) -> None:
    data = compress(SNAPPY, b"abc")
    with pytest.raises(CorruptMessage):
        decompress(SNAPPY, data[:16] + struct.pack(">i", size) + data[20:])


def test_an_unknown_codec_is_refused() -> None:
    with pytest.raises(UnsupportedCompressionType):
        decompress(5, b"")


@pytest.mark.parametrize("codec", [GZIP, SNAPPY, LZ4, ZSTD])
def test_every_truncation_is_refused_or_shorter(codec: int) -> None:
    data = compress(codec, b"some text that repeats, some text that repeats")
    for size in range(len(data)):
        try:
            assert len(decompress(codec, data[:size], 10_000)) <= 46
        except CorruptMessage:
            continue


@given(st.sampled_from([GZIP, SNAPPY, LZ4, ZSTD]), st.binary(max_size=200))
def test_hostile_bytes_are_refused_within_the_bound(codec: int, data: bytes) -> None:
    with contextlib.suppress(BrokerError):
        assert len(decompress(codec, data, 10_000)) <= 10_000


def test_the_level_is_used() -> None:
    payload = b"".join(b"%d," % (number * number) for number in range(20_000))
    assert len(compress(ZSTD, payload, 19)) < len(compress(ZSTD, payload, 1))
    assert compress(NONE, payload) == payload
    assert compression.DEFAULT_LEVELS[ZSTD] == 3
