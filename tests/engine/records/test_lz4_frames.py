"""LZ4 frames by the short way: the same bytes as the frame decoder's, or none."""

import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import cramjam
import lz4.frame
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engine.records.compression import LZ4, decompress
from engine.records.lz4_frames import BLOCKS_MAX, read_frame
from engine.stage.headers import PREFIX, sniff
from tests.engine.frames import Change, changes, contents, flipped

BOUND = 10_000_000
TEXT = b"".join(b"%d tide %d," % (number, number * number) for number in range(30_000))
WRITERS: dict[str, dict[str, Any]] = {
    "java, librdkafka": {"block_size": lz4.frame.BLOCKSIZE_MAX64KB, "store_size": False},
    "franz-go": {"block_size": lz4.frame.BLOCKSIZE_MAX4MB, "store_size": False, "content_checksum": True},
    "aiokafka": {"block_checksum": True, "store_size": False},
    "with a size": {"store_size": True},
    "256 KiB": {"block_size": lz4.frame.BLOCKSIZE_MAX256KB},
    "1 MiB": {"block_size": lz4.frame.BLOCKSIZE_MAX1MB, "block_checksum": True, "content_checksum": True},
}


def written(content: bytes, **options: Any) -> bytes:
    return bytes(lz4.frame.compress(content, **{"block_linked": False, **options}))


def in_blocks(contents: list[bytes]) -> bytes:
    """A frame with a block for each of these."""
    with lz4.frame.LZ4FrameCompressor(block_linked=False, auto_flush=True) as compressor:
        pieces = [compressor.begin(), *(compressor.compress(each) for each in contents), compressor.flush()]
    return b"".join(pieces)


def by_the_frame_decoder(data: bytes) -> bytes | None:
    try:
        return bytes(cramjam.lz4.decompress(data))
    except cramjam.DecompressionError:
        return None


@pytest.mark.parametrize("content", [b"", b"x", TEXT[:15_000], TEXT, TEXT[:70_000] + bytes(range(256)) * 2000], ids=len)
@pytest.mark.parametrize("writer", WRITERS)
def test_what_producers_write_goes_the_short_way(writer: str, content: bytes) -> None:
    assert read_frame(memoryview(written(content, **WRITERS[writer])), BOUND) == content


def test_bytes_that_do_not_shrink_are_stored_as_they_are() -> None:
    content = cramjam.zstd.compress(TEXT)
    frame = written(bytes(content))
    assert len(frame) > len(content)
    assert read_frame(memoryview(frame), BOUND) == bytes(content)


def test_blocks_that_refer_to_each_other_are_for_the_frame_decoder() -> None:
    one, several = (written(text, block_linked=True) for text in (TEXT[:60_000], TEXT))
    assert read_frame(memoryview(one), BOUND) == TEXT[:60_000]
    assert read_frame(memoryview(several), BOUND) is None
    assert decompress(LZ4, several) == TEXT


@pytest.mark.parametrize("block_size", [lz4.frame.BLOCKSIZE_MAX64KB, lz4.frame.BLOCKSIZE_MAX4MB])
@pytest.mark.parametrize("content", [TEXT[:100], TEXT[:65_536], TEXT, cramjam.zstd.compress(TEXT)], ids=len)
def test_a_bound_holds_to_the_byte(content: bytes, block_size: int) -> None:
    frame = memoryview(written(bytes(content), block_size=block_size))
    assert read_frame(frame, len(content)) == bytes(content)
    for bound in (len(content) - 1, 1, 0):
        assert read_frame(frame, bound) is None


def test_a_frame_of_crumbs_is_not_walked_through() -> None:
    assert read_frame(memoryview(in_blocks([b"crumb"] * BLOCKS_MAX)), BOUND) == b"crumb" * BLOCKS_MAX
    crumbs = in_blocks([b"crumb"] * (BLOCKS_MAX + 1))
    assert read_frame(memoryview(crumbs), BOUND) is None
    assert decompress(LZ4, crumbs) == b"crumb" * (BLOCKS_MAX + 1)


@pytest.mark.parametrize("cut", range(len(PREFIX) + 1))
def test_a_header_across_blocks_is_seen(cut: int) -> None:
    frame = in_blocks([b"guide tid " + PREFIX[:cut], PREFIX[cut:] + b"delay"])
    assert sniff(read_frame(memoryview(frame), BOUND) or b"")


flags = st.booleans()
options = st.fixed_dictionaries(
    {
        "block_size": st.sampled_from([4, 5, 6, 7]),
        "block_linked": flags,
        "block_checksum": flags,
        "content_checksum": flags,
        "store_size": flags,
    }
)
changed_frames = changes(written(b"tide-delay"), b"\x50\x2a\x4d\x18\x01\x00\x00\x00x")


@given(contents, options)
def test_no_header_is_missed(pieces: list[bytes], how: dict[str, Any]) -> None:
    content = b"".join(pieces)
    found = decompress(LZ4, written(content, **how))
    assert found == content
    assert sniff(found) == (PREFIX in content)


@given(contents, options, changed_frames)
@example([b"tide", b"-"], {"content_checksum": True}, lambda data: flipped(data, len(data) - 1, 0))
@example([b"tide", b"-"], {"block_checksum": True}, lambda data: flipped(data, len(data) - 5, 0))
def test_of_a_changed_frame_nothing_is_read_that_the_frame_decoder_would_not(
    pieces: list[bytes], how: dict[str, Any], change: Change
) -> None:
    data = change(written(b"".join(pieces), **how))
    found = read_frame(memoryview(data), BOUND)
    assert found is None or found == by_the_frame_decoder(data)


@given(st.binary(max_size=300))
def test_hostile_blocks_stay_within_the_bound(body: bytes) -> None:
    found = read_frame(memoryview(written(b"")[:7] + body), 1000)
    assert found is None or len(found) <= 1000


def test_threads_do_not_share_a_buffer() -> None:
    texts = [bytes([letter]) * 50_000 for letter in b"abcd"]
    frames = [(memoryview(written(text)), text) for text in texts]

    def is_right(turn: int) -> bool:
        frame, text = frames[turn % len(frames)]
        return read_frame(frame, BOUND) == text

    interval_s = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # so that threads meet between the reading of a block and its copy
    try:
        with ThreadPoolExecutor(4) as pool:
            assert all(pool.map(is_right, range(2000)))
    finally:
        sys.setswitchinterval(interval_s)
