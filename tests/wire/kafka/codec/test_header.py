"""Request and response headers."""

import struct

import pytest

from wire.kafka.codec import WireError, decode_request_header, is_flexible, response_start, schema_versions


def header(key: int, version: int, client_id: bytes | None, rest: bytes = b"") -> bytes:
    size = -1 if client_id is None else len(client_id)
    return struct.pack(">hhih", key, version, 77, size) + (client_id or b"") + rest


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_version_1_ends_with_the_client_id(kind: type) -> None:
    assert decode_request_header(kind(header(0, 8, b"me", b"body")), 0) == (0, 8, 77, "me", 12)


def test_version_2_skips_its_tags() -> None:
    frame = header(0, 9, b"me", bytes.fromhex("020003aaaaaa0701bb") + b"body")
    assert decode_request_header(frame, 0) == (0, 9, 77, "me", 21)


def test_a_header_may_begin_inside_the_buffer() -> None:
    assert decode_request_header(b"1234" + header(3, 0, None), 4) == (3, 0, 77, None, 14)


@pytest.mark.parametrize(("key", "version"), [(999, 3), (-5, 0), (0, 1), (3, -1)])
def test_unknown_keys_and_versions_still_have_a_header(key: int, version: int) -> None:
    assert decode_request_header(header(key, version, b"me"), 0) == (key, version, 77, "me", 12)


def test_a_version_after_the_known_ones_is_flexible() -> None:
    assert decode_request_header(header(18, 99, b"me", b"\x00"), 0) == (18, 99, 77, "me", 13)


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        (b"", "ends too early"),
        (header(0, 9, b"me")[:9], "ends too early"),
        (header(0, 9, b"me"), "ends too early"),
        (header(0, 3, b"me")[:-1], "client id of 2 bytes does not fit"),
        (header(0, 3, None)[:-2] + b"\xff\xfe", "client id has length -2"),
        (header(0, 3, b"\xff"), "client id is not UTF-8"),
        (header(0, 9, b"me", b"\x01"), "1 tagged fields do not fit"),
        (header(0, 9, b"me", b"\x01\x00\x05a"), "tag 0 of 5 bytes does not fit"),
        (header(0, 9, b"me", b"\xff\xff\xff\xff\x0f"), "more than 127 tagged fields"),
    ],
)
def test_a_malformed_header_is_refused(frame: bytes, reason: str) -> None:
    with pytest.raises(WireError, match=reason):
        decode_request_header(frame, 0)


def test_a_flexible_response_has_tags_in_its_header() -> None:
    assert response_start(0, 8).pack(5, 77) == bytes.fromhex("000000050000004d")
    assert response_start(0, 9).pack(5, 77) == bytes.fromhex("000000050000004d00")


@pytest.mark.parametrize("version", range(5))
def test_the_response_to_api_versions_never_has_tags_in_its_header(version: int) -> None:
    assert response_start(18, version).pack(5, 77) == bytes.fromhex("000000050000004d")


def test_which_versions_are_flexible() -> None:
    assert [is_flexible(1, version) for version in (11, 12, 18, 99)] == [False, True, True, True]
    assert not is_flexible(17, 1)
    assert not is_flexible(999, 0)


def test_which_versions_have_a_schema() -> None:
    assert schema_versions(1) == (4, 18)
    with pytest.raises(WireError, match="no schema for api key 999"):
        schema_versions(999)
