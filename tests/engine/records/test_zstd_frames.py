"""zstd frames by the short way: the same bytes as a decoder made for each would read, or none."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import cramjam
import pytest
import zstandard
from hypothesis import example, given
from hypothesis import strategies as st

from engine.records.compression import ZSTD, decompress
from engine.records.zstd_frames import BLOCKS_MAX, ROOM_BYTES, WINDOW_BYTES_MAX, read_frame
from engine.stage.headers import PREFIX, sniff
from tests.engine.frames import Change, changes, contents, flipped

BOUND = 10_000_000
TEXT = b"".join(b"%d tide %d," % (number, number * number) for number in range(30_000))
SKIPPED = b"\x50\x2a\x4d\x18\x01\x00\x00\x00x"


def sized(content: bytes, *, checksum: bool = False) -> bytes:
    """As franz-go and aiokafka write it."""
    return zstandard.ZstdCompressor(write_checksum=checksum).compress(content)


def unsized(content: bytes, *, checksum: bool = False) -> bytes:
    """As Java's producer and librdkafka write it: bit by bit, before they know how much it will be."""
    compressor = zstandard.ZstdCompressor(write_checksum=checksum).compressobj()
    return compressor.compress(content) + compressor.flush()


WRITERS = {"sized": sized, "unsized": unsized}


def by_another_decoder(data: bytes) -> bytes | None:
    try:
        return bytes(cramjam.zstd.decompress(data))
    except cramjam.DecompressionError:
        return None


@pytest.mark.parametrize("content", [b"x", TEXT[:15_000], TEXT], ids=len)
@pytest.mark.parametrize("checksum", [False, True])
@pytest.mark.parametrize("writer", WRITERS)
def test_what_producers_write_goes_the_short_way(writer: str, checksum: bool, content: bytes) -> None:
    assert read_frame(memoryview(WRITERS[writer](content, checksum=checksum)), BOUND) == content


@pytest.mark.parametrize("writer", WRITERS)
def test_a_bound_holds_to_the_byte(writer: str) -> None:
    frame = memoryview(WRITERS[writer](TEXT))
    assert read_frame(frame, len(TEXT)) == TEXT
    for bound in (len(TEXT) - 1, 1, 0):
        assert read_frame(frame, bound) is None


@pytest.mark.parametrize("writer", WRITERS)
def test_what_grows_beyond_its_room_is_for_another_decoder(writer: str) -> None:
    bomb = WRITERS[writer](bytes(ROOM_BYTES + 1))
    assert read_frame(memoryview(bomb), BOUND) is None
    assert decompress(ZSTD, bomb) == bytes(ROOM_BYTES + 1)


@pytest.mark.parametrize(
    "before", [sized(b"plain"), unsized(b"plain"), sized(b""), unsized(b""), SKIPPED], ids=lambda data: data.hex()
)
def test_a_header_in_a_second_frame_is_not_missed(before: bytes) -> None:
    both = before + sized(b"tide-delay")
    assert read_frame(memoryview(both), BOUND) is None
    assert sniff(decompress(ZSTD, both))


def test_a_skipped_frame_that_looks_like_blocks_hides_no_header() -> None:
    behind = sized(b"tide-delay")
    like_a_last_block = (1 | len(behind) << 3).to_bytes(3, "little")
    data = SKIPPED[:4] + b"\x03\x00\x00\x00" + like_a_last_block + behind
    assert read_frame(memoryview(data), BOUND) is None
    assert sniff(decompress(ZSTD, data))


def in_blocks(contents: list[bytes]) -> bytes:
    """A frame with a block for each of these."""
    compressor = zstandard.ZstdCompressor().compressobj()
    block = zstandard.COMPRESSOBJ_FLUSH_BLOCK
    pieces = [compressor.compress(each) + compressor.flush(block) for each in contents]
    return b"".join(pieces) + compressor.flush()


def test_a_frame_of_crumbs_is_not_walked_through() -> None:
    some = [b"%d" % number for number in range(BLOCKS_MAX - 1)]
    assert read_frame(memoryview(in_blocks(some)), BOUND) == b"".join(some)
    crumbs = in_blocks([*some, b"one more"])
    assert read_frame(memoryview(crumbs), BOUND) is None
    assert decompress(ZSTD, crumbs) == b"".join(some) + b"one more"


@pytest.mark.parametrize("cut", range(len(PREFIX) + 1))
def test_a_header_across_blocks_is_seen(cut: int) -> None:
    frame = in_blocks([b"guide tid " + PREFIX[:cut], PREFIX[cut:] + b"delay"])
    assert sniff(read_frame(memoryview(frame), BOUND) or b"")


def test_a_wide_window_is_not_kept() -> None:
    wide = zstandard.ZstdCompressionParameters.from_level(3, window_log=WINDOW_BYTES_MAX.bit_length())
    compressor = zstandard.ZstdCompressor(compression_params=wide).compressobj()
    frame = compressor.compress(TEXT) + compressor.flush()
    assert zstandard.get_frame_parameters(frame).window_size > WINDOW_BYTES_MAX
    assert read_frame(memoryview(frame), BOUND) is None
    assert decompress(ZSTD, frame) == TEXT


writers = st.sampled_from([sized, unsized])
changed_frames = changes(unsized(b"tide-delay"), SKIPPED)


@given(contents, writers, st.booleans())
def test_no_header_is_missed(pieces: list[bytes], writer: Callable[..., bytes], checksum: bool) -> None:
    content = b"".join(pieces)
    found = decompress(ZSTD, writer(content, checksum=checksum))
    assert found == content
    assert sniff(found) == (PREFIX in content)


@given(contents, writers, st.booleans(), changed_frames)
@example([b"tide", b"-"], unsized, True, lambda data: flipped(data, len(data) - 1, 0))
def test_of_a_changed_frame_nothing_is_read_that_another_decoder_would_not(
    pieces: list[bytes], writer: Callable[..., bytes], checksum: bool, change: Change
) -> None:
    data = change(writer(b"".join(pieces), checksum=checksum))
    found = read_frame(memoryview(data), BOUND)
    assert found is None or found == by_another_decoder(data)


@given(st.binary(max_size=300))
def test_hostile_bytes_stay_within_the_bound(body: bytes) -> None:
    found = read_frame(memoryview(sized(b"")[:4] + body), 1000)
    assert found is None or len(found) <= 1000


def test_a_decoder_that_failed_is_of_use_again() -> None:
    frame = unsized(TEXT)
    assert read_frame(memoryview(frame[:1000]), BOUND) is None
    assert read_frame(memoryview(frame), BOUND) == TEXT


def test_threads_do_not_share_a_decoder() -> None:
    texts = [bytes([letter]) * 50_000 for letter in b"abcd"]
    frames = [(memoryview(unsized(text)), text) for text in texts]

    def is_right(turn: int) -> bool:
        frame, text = frames[turn % len(frames)]
        return read_frame(frame, BOUND) == text

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(is_right, range(400)))
