"""What a log takes from a client, what it refuses and why, and what it changes."""

import pytest
from aiokafka.record.default_records import DefaultRecordBatch
from msgspec.structs import replace

from engine.errors import CorruptMessage, InvalidRecord, InvalidTimestamp, OffsetOutOfRange, RecordTooLarge
from engine.log.producer_state import ProducerState
from engine.log.types import LogConfig, Origin
from engine.log.validation import Piece, accept, is_ordinary, prepare
from engine.records.batch import Batch, split, whole
from engine.records.compression import CODECS, GZIP, NONE, ZSTD, compress
from engine.records.layout import (
    CONTROL_FLAG,
    HEADER_SIZE,
    LOG_APPEND_TIME_FLAG,
    PREFIX_SIZE,
    TRANSACTIONAL_FLAG,
    build_batch,
    pack_batch,
    pack_record,
    parse_header,
    seal_batch,
)
from tests.engine.logs import NOW_MS, batch, idempotent


def _accept(data: bytes | Batch, config: LogConfig | None = None, origin: Origin = Origin.CLIENT) -> list[Piece]:
    batches = [data] if isinstance(data, Batch) else split(data, origin)
    return accept(batches, config or LogConfig(), ProducerState(1000), 10, NOW_MS, "topic-0")[0]


def _is_ordinary(data: bytes, config: LogConfig) -> bool:
    return is_ordinary(whole(data), config, NOW_MS)


def _with(data: bytes, **changes: int) -> bytes:
    return seal_batch(parse_header(data)._replace(**changes), data[HEADER_SIZE:])


def test_a_good_batch_is_taken_without_a_copy() -> None:
    data = batch(3)
    ((header, (rest,)),) = _accept(data)
    assert header == parse_header(data)
    assert isinstance(rest, memoryview)
    assert rest.obj is data
    assert rest == data[PREFIX_SIZE:]


def test_a_wrong_checksum_is_corrupt() -> None:
    data = bytearray(batch())
    data[-1] ^= 1
    with pytest.raises(CorruptMessage):
        _accept(bytes(data))


def test_the_limit_counts_the_whole_batch() -> None:
    data = batch(size=500)
    _accept(data, LogConfig(max_message_bytes=len(data)))
    with pytest.raises(RecordTooLarge, match=r"max\.message\.bytes"):
        _accept(data, LogConfig(max_message_bytes=len(data) - 1))


@pytest.mark.parametrize(
    "changes",
    [
        {"record_count": 0},
        {"record_count": -1},
        {"record_count": 4},
        {"last_offset_delta": 5},
        {"last_offset_delta": -1, "record_count": 0},
        {"base_offset": 1},
        {"attributes": 5},
        {"attributes": CONTROL_FLAG},
        {"producer_id": 5, "base_sequence": -1},
    ],
)
def test_a_batch_that_contradicts_itself_is_invalid(changes: dict[str, int]) -> None:
    with pytest.raises(InvalidRecord):
        _accept(_with(batch(3), **changes))


@pytest.mark.parametrize("bit", [0x40, 0x80, *(1 << place for place in range(8, 15)), -0x8000])
def test_attribute_bits_that_are_not_for_clients_are_refused(bit: int) -> None:
    with pytest.raises(InvalidRecord, match=f"{bit & 0xFFFF:#06x}"):
        _accept(_with(batch(3), attributes=bit))
    assert _accept(_with(batch(3), attributes=TRANSACTIONAL_FLAG))


def test_times_must_be_within_bounds() -> None:
    config = LogConfig(timestamp_before_max_ms=100, timestamp_after_max_ms=50)
    for shift in (-100, 0, 50):
        _accept(batch(timestamp_ms=NOW_MS + shift), config)
    for shift in (-101, 51):
        with pytest.raises(InvalidTimestamp):
            _accept(batch(timestamp_ms=NOW_MS + shift), config)
    _accept(batch(timestamp_ms=-1), config)


def test_the_broker_alone_marks_append_time() -> None:
    with pytest.raises(InvalidTimestamp):
        _accept(_with(batch(), attributes=LOG_APPEND_TIME_FLAG))


def test_under_append_time_the_bounds_do_not_matter_and_the_time_is_ours() -> None:
    config = LogConfig(timestamp_type="LogAppendTime", timestamp_before_max_ms=0, timestamp_after_max_ms=0)
    data = batch(3, timestamp_ms=5)
    ((header, rest),) = _accept(data, config)
    assert (header.max_timestamp, header.base_timestamp) == (NOW_MS, 5)
    opened = DefaultRecordBatch(header.pack()[:PREFIX_SIZE] + b"".join(rest))
    assert opened.validate_crc()
    assert [record.timestamp for record in opened] == [NOW_MS] * 3


def test_a_compacted_topic_wants_keys_and_names_the_records_without() -> None:
    config = LogConfig(cleanup_compact=True)
    _accept(batch(3), config)
    data = build_batch([(b"k", b"v"), (None, b"v"), (b"k", None), (None, b"v")], timestamp_ms=NOW_MS)
    with pytest.raises(InvalidRecord) as caught:
        _accept(data, config)
    assert [number for number, _ in caught.value.record_errors] == [1, 3]
    assert caught.value.record_errors[0][1] == (
        "Compacted topic cannot accept message without key in topic partition topic-0"
    )


def test_a_compacted_topic_opens_compressed_batches() -> None:
    data = build_batch([(None, b"v")], timestamp_ms=NOW_MS)
    zipped = seal_batch(parse_header(data)._replace(attributes=GZIP), compress(GZIP, data[HEADER_SIZE:]))
    with pytest.raises(InvalidRecord):
        _accept(zipped, LogConfig(cleanup_compact=True))


def _poison(codec: int = NONE) -> dict[str, bytes]:
    """Batches whose headers are in order, and that no consumer could read."""
    header, good = parse_header(batch(3)), batch(3)[HEADER_SIZE:]
    one = parse_header(batch())
    repeated = b"".join(pack_record(0, 0, None, b"v") for _ in range(3))
    sections = {
        "garbage": (one, b"\xff" * 20),
        "a count too high": (header._replace(record_count=4, last_offset_delta=3), good),
        "a count too low": (header._replace(record_count=2, last_offset_delta=1), good),
        "repeated deltas": (header, repeated),
        "a byte too many": (header, good + b"\0"),
        "cut short": (header, good[:-1]),
    }
    return {
        name: seal_batch(header._replace(attributes=codec), compress(codec, section))
        for name, (header, section) in sections.items()
    }


@pytest.mark.parametrize("codec", CODECS.values())
@pytest.mark.parametrize("name", _poison())
def test_records_that_no_consumer_could_read_are_refused(name: str, codec: int) -> None:
    poison = _poison(codec)[name]
    with pytest.raises(InvalidRecord):
        _accept(poison)
    assert not _is_ordinary(poison, LogConfig())
    unchecked = LogConfig(validates_structure=False)
    _accept(poison, unchecked)
    assert _is_ordinary(poison, unchecked)
    with pytest.raises(InvalidRecord):
        _accept(poison, LogConfig(validates_structure=False, cleanup_compact=True))


def test_damage_on_the_way_is_told_before_what_it_makes_of_the_records() -> None:
    """A producer sends a corrupt batch again, an invalid one not."""
    damaged = bytearray(_poison()["repeated deltas"])
    damaged[-1] ^= 1
    with pytest.raises(CorruptMessage):
        _accept(bytes(damaged))


def test_what_was_found_out_before_is_not_found_out_again() -> None:
    known = whole(batch(5, size=200))
    recompressed = known.recompress(ZSTD, 3)
    ((header, rest),) = _accept(known, LogConfig(compression_type="zstd"))
    assert rest[1] is recompressed
    assert header.codec == ZSTD
    found = replace(known, is_walked=True, unsound=(1, 0))
    assert not is_ordinary(found, LogConfig(), NOW_MS)
    with pytest.raises(InvalidRecord, match="record 1 of 5"):
        _accept(found)


def test_a_batch_of_too_many_records_is_refused_by_its_header() -> None:
    data = _with(batch(3), record_count=2_000_000, last_offset_delta=1_999_999)
    with pytest.raises(RecordTooLarge, match=r"max\.message\.records, 1000000"):
        _accept(data)
    _accept(batch(3), LogConfig(max_message_records=3))
    with pytest.raises(RecordTooLarge):
        _accept(batch(3), LogConfig(max_message_records=2))
    assert not _is_ordinary(batch(3), LogConfig(max_message_records=2))


def test_an_answer_names_a_hundred_records_at_most() -> None:
    keyless = build_batch([(None, b"v")] * 300, timestamp_ms=NOW_MS)
    with pytest.raises(InvalidRecord, match="300 of 300") as caught:
        _accept(keyless, LogConfig(cleanup_compact=True))
    assert [index for index, _ in caught.value.record_errors] == list(range(100))
    late = LogConfig(timestamp_after_max_ms=0)
    with pytest.raises(InvalidTimestamp) as late_caught:
        _accept(build_batch([(None, b"v")] * 300, timestamp_ms=NOW_MS + 1), late)
    assert len(late_caught.value.record_errors) == 100


def test_naming_the_records_out_of_time_is_bounded_work() -> None:
    """Only the last record is too late: the first ones are looked at, and the batch is refused without its name."""
    records = [pack_record(index, 0, None, b"") for index in range(20_000)] + [pack_record(20_000, 100, None, b"")]
    data = pack_batch(records, (NOW_MS, NOW_MS + 100))
    with pytest.raises(InvalidTimestamp) as caught:
        _accept(data, LogConfig(timestamp_after_max_ms=50))
    assert caught.value.record_errors == ()
    zipped = seal_batch(parse_header(data)._replace(attributes=ZSTD), compress(ZSTD, bytes(300_000)))
    with pytest.raises(InvalidTimestamp):
        _accept(zipped, LogConfig(timestamp_after_max_ms=50))


@pytest.mark.parametrize("source", CODECS)
@pytest.mark.parametrize("target", CODECS)
def test_a_forced_codec_compresses_anew(source: str, target: str) -> None:
    plain = batch(5, size=200)
    codec = CODECS[source]
    data = seal_batch(parse_header(plain)._replace(attributes=codec), compress(codec, plain[HEADER_SIZE:]))
    ((header, rest),) = _accept(data, LogConfig(compression_type=target))
    assert header.codec == CODECS[target]
    stored = header.pack()[:PREFIX_SIZE] + b"".join(rest)
    assert header.size == len(stored)
    opened = DefaultRecordBatch(stored)
    assert opened.validate_crc()
    assert [record.value for record in opened] == [b"v" * 200] * 5


def test_an_idempotent_producer_sends_one_batch() -> None:
    with pytest.raises(InvalidRecord):
        _accept(idempotent(0) + idempotent(1))


def test_a_replicas_batches_keep_their_offsets_and_are_not_judged() -> None:
    data = _with(batch(3), base_offset=12, attributes=CONTROL_FLAG)
    ((header, _),) = _accept(data, origin=Origin.REPLICA)
    assert header.base_offset == 12
    with pytest.raises(OffsetOutOfRange):
        _accept(_with(batch(), base_offset=9), origin=Origin.REPLICA)


def test_the_coordinator_may_write_control_records() -> None:
    _accept(_with(batch(), attributes=CONTROL_FLAG), origin=Origin.COORDINATOR)


def test_producers_own_codec_is_kept() -> None:
    sent = whole(batch())
    assert prepare(sent, LogConfig(), NOW_MS)[0] is sent.header
