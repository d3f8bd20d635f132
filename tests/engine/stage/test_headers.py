"""Extension headers: what is obeyed, what is refused and in which words, and that no bytes do worse than that."""

import warnings

import pytest
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import InvalidRecord
from engine.records.layout import pack_record, record_section, split_batches, varint, walk_records
from engine.stage.headers import (
    EXCLUDED,
    FAULTS,
    FOREVER_MS,
    GIVEN_TWICE,
    MALFORMED_VALUE,
    NAMED_ERRORS_MAX,
    NO_DIRECTIVE,
    NO_KEY,
    TOO_FAR,
    UNKNOWN_HEADER,
    Directive,
    HeaderRules,
    OpenedRecord,
    open_records,
    replay_records,
    sniff,
)

with warnings.catch_warnings():
    # kafka-python reads its schemas by a function that the standard library has deprecated.
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka.record.default_records import DefaultRecordBatchBuilder as KafkaPythonBuilder

NOW_MS = 1_800_000_000_000
RULES = HeaderRules(delay_max_ms=10_000, priority=True)
PLAIN_PRIORITY = HeaderRules(delay_max_ms=10_000, priority=False)
Headers = list[tuple[bytes, bytes | None]]


def _open(headers: Headers, key: bytes | None = b"key", rules: HeaderRules = RULES) -> Directive:
    section = pack_record(0, 0, key, b"value", headers)
    ((start, end, timestamp_delta, directive),) = open_records(section, 1, rules, NOW_MS)
    assert (start, end, timestamp_delta) == (0, len(section), 0)
    # What was taken when it came is read the same way when the stage is replayed.
    assert replay_records(section, 1, rules)[0].directive == directive
    return directive


def _reason(headers: Headers, key: bytes | None = b"key", rules: HeaderRules = RULES) -> str:
    with pytest.raises(InvalidRecord) as raised:
        open_records(pack_record(0, 0, key, b"value", headers), 1, rules, NOW_MS)
    ((index, reason),) = raised.value.record_errors
    assert index == 0
    assert str(raised.value) == f"1 of 1 record asks for what cannot be done: record 0: {reason}"
    return reason


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        (b"tide-delay", b"0", NO_DIRECTIVE._replace(delay_ms=0)),
        (b"tide-delay", b"10000", NO_DIRECTIVE._replace(delay_ms=10_000)),
        (b"tide-delay", b"0000000000000000007", NO_DIRECTIVE._replace(delay_ms=7)),
        (b"tide-deliver-at", b"5", NO_DIRECTIVE._replace(deliver_at_ms=5)),
        (b"tide-deliver-at", b"1800000010000", NO_DIRECTIVE._replace(deliver_at_ms=NOW_MS + 10_000)),
        (b"tide-schedule-id", b"a", NO_DIRECTIVE._replace(schedule_id=b"a")),
        (b"tide-schedule-id", "é".encode() * 124, NO_DIRECTIVE._replace(schedule_id="é".encode() * 124)),
        (b"tide-schedule-id", b"x" * 249, NO_DIRECTIVE._replace(schedule_id=b"x" * 249)),
        (b"tide-cancel", b"job 1", NO_DIRECTIVE._replace(cancel=b"job 1")),
        (b"tide-priority", b"critical", NO_DIRECTIVE._replace(priority=0)),
        (b"tide-priority", b"high", NO_DIRECTIVE._replace(priority=1)),
        (b"tide-priority", b"normal", NO_DIRECTIVE._replace(priority=2)),
        (b"tide-priority", b"low", NO_DIRECTIVE._replace(priority=3)),
        (b"tide-priority", b"background", NO_DIRECTIVE._replace(priority=4)),
        (b"tide-priority", b"0", NO_DIRECTIVE._replace(priority=0)),
        (b"tide-priority", b"4", NO_DIRECTIVE._replace(priority=4)),
        (b"tide-ttl", b"0", NO_DIRECTIVE._replace(ttl_ms=0)),
        (b"tide-ttl", b"60000", NO_DIRECTIVE._replace(ttl_ms=60_000)),
        (b"tide-ttl", b"9223372036854775807", NO_DIRECTIVE._replace(ttl_ms=FOREVER_MS)),
        (b"tide-expires-at", b"1", NO_DIRECTIVE._replace(expires_at_ms=1)),
        (b"tide-expires-at", b"9999999999999999999", NO_DIRECTIVE._replace(expires_at_ms=FOREVER_MS)),
    ],
)
def test_a_header_is_understood(name: bytes, value: bytes, expected: Directive) -> None:
    assert _open([(b"other", b"x"), (name, value), (b"null", None)]) == expected


def test_headers_go_together() -> None:
    headers: Headers = [
        (b"tide-delay", b"5"),
        (b"tide-schedule-id", b"job"),
        (b"tide-priority", b"low"),
        (b"tide-expires-at", b"99"),
    ]
    assert _open(headers) == Directive(5, None, b"job", None, 3, None, 99)


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [(b"__tide-delay", b"x"), (b"x-tide-delay", None), (b"tide", b""), (b"TIDE-delay", b"y"), (b"tid", b"e-delay")],
        [(b"", b"tide-delay"), (b"note", b"tide-nonsense"), (b"note", b"tide-nonsense")],
    ],
)
def test_what_only_looks_like_one_is_plain_data(headers: Headers) -> None:
    assert _open(headers, key=None) is NO_DIRECTIVE


@pytest.mark.parametrize("value", [b"high", b"nonsense", b"", None])
def test_priority_is_plain_data_where_it_is_off(value: bytes | None) -> None:
    assert _open([(b"tide-priority", value)] * 2, rules=PLAIN_PRIORITY) == NO_DIRECTIVE
    cancelling: Headers = [(b"tide-cancel", b"a"), (b"tide-priority", value)]
    assert _open(cancelling, rules=PLAIN_PRIORITY) == NO_DIRECTIVE._replace(cancel=b"a")


def test_priority_is_refused_in_a_compacted_topic() -> None:
    reason = "tide-priority cannot be obeyed in a compacted topic, whose cleanup.policy has compact"
    headers: Headers = [(b"tide-delay", b"5"), (b"tide-priority", b"high")]
    assert _reason(headers, rules=evolve(RULES, compacted=True)) == reason
    assert _open(headers[:1], rules=evolve(RULES, compacted=True)).delay_ms == 5
    assert _open(headers, rules=evolve(PLAIN_PRIORITY, compacted=True)).priority is None


NOT_NUMBERS = [b"", b"-1", b"+1", b" 1", b"1 ", b"1_0", b"1.5", b"1e3", b"five", "٣".encode(), b"\x00" * 8, b"1" * 20]


@pytest.mark.parametrize("name", [b"tide-delay", b"tide-deliver-at", b"tide-ttl", b"tide-expires-at"])
@pytest.mark.parametrize("value", NOT_NUMBERS)
def test_a_number_is_digits_and_nothing_else(name: bytes, value: bytes) -> None:
    wanted = f"{name.decode()} must be milliseconds in decimal digits, at most 19 of them, not "
    assert _reason([(name, value)]) == wanted + repr(value.decode())


@pytest.mark.parametrize(
    ("headers", "reason"),
    [
        ([(b"tide-delay", None)], "tide-delay has a null value"),
        ([(b"tide-cancel", None)], "tide-cancel has a null value"),
        ([(b"tide-priority", None)], "tide-priority has a null value"),
        ([(b"tide-delay", b"1"), (b"tide-delay", b"2")], "tide-delay is given twice, with '2' the second time"),
        ([(b"tide-delay", b"0"), (b"tide-delay", None)], "tide-delay is given twice, with '' the second time"),
        (
            [(b"tide-delay", b"1"), (b"tide-deliver-at", b"2")],
            "tide-delay and tide-deliver-at exclude each other, and both are given",
        ),
        (
            [(b"tide-ttl", b"1"), (b"tide-expires-at", b"2")],
            "tide-ttl and tide-expires-at exclude each other, and both are given",
        ),
        ([(b"tide-delay", b"10001")], "tide-delay of 10001 is beyond delay.max.ms, which is 10000"),
        (
            [(b"tide-deliver-at", b"1800000010001")],
            "tide-deliver-at of 1800000010001 is further away than delay.max.ms, 10000, which now ends at "
            "1800000010000",
        ),
        (
            [(b"tide-priority", b"urgent")],
            "tide-priority must be one of critical, high, normal, low, background, or 0 to 4, not 'urgent'",
        ),
        (
            [(b"tide-priority", b"5")],
            "tide-priority must be one of critical, high, normal, low, background, or 0 to 4, not '5'",
        ),
        (
            [(b"tide-dealy", b"5")],
            "'tide-dealy' is no header that this broker knows; names in tide- are reserved",
        ),
        ([(b"tide-", None)], "'tide-' is no header that this broker knows; names in tide- are reserved"),
        ([(b"tide-schedule-id", b"")], "tide-schedule-id must be 1 to 249 bytes long, not 0: ''"),
        (
            [(b"tide-schedule-id", b"x" * 250)],
            f"tide-schedule-id must be 1 to 249 bytes long, not 250: '{'x' * 60}'...",
        ),
        ([(b"tide-schedule-id", b"a\xff")], r"tide-schedule-id must be UTF-8 text, not 'a\\xff'"),
        ([(b"tide-cancel", b"\xc3")], r"tide-cancel must be UTF-8 text, not '\\xc3'"),
        (
            [(b"tide-cancel", b"a"), (b"tide-ttl", b"0")],
            "tide-cancel goes with no other tide- header: the record that carries it is not stored",
        ),
        (
            [(b"tide-schedule-id", b"a"), (b"tide-cancel", b"a")],
            "tide-cancel goes with no other tide- header: the record that carries it is not stored",
        ),
    ],
)
def test_what_cannot_be_done_is_refused_with_its_reason(headers: Headers, reason: str) -> None:
    assert _reason(headers) == reason


@pytest.mark.parametrize("name", ["tide-schedule-id", "tide-cancel"])
def test_an_id_needs_a_key(name: str) -> None:
    reason = f"{name} needs a record with a key, and this one has none"
    assert _reason([(name.encode(), b"job")], key=None) == reason
    assert _open([(name.encode(), b"job")], key=b"") != NO_DIRECTIVE


def test_every_bad_record_of_a_batch_is_named_by_its_index() -> None:
    asked = [b"1", b"x", b"2", b"99999"]
    section = b"".join(pack_record(i, 0, None, b"v", [(b"tide-delay", value)]) for i, value in enumerate(asked))
    with pytest.raises(InvalidRecord, match=r"^2 of 4 records ask for what cannot be done: record 1: tide-delay") as r:
        open_records(section, 4, RULES, NOW_MS)
    assert [index for index, _ in r.value.record_errors] == [1, 3]


def test_the_answer_to_a_batch_of_bad_records_stays_small() -> None:
    section = pack_record(0, 0, None, b"v", [(b"tide-x" * 1000, None)]) * 500
    with pytest.raises(InvalidRecord, match=r"^500 of 500 records ask for") as raised:
        open_records(section, 500, RULES, NOW_MS)
    assert len(raised.value.record_errors) == NAMED_ERRORS_MAX
    assert all(len(reason) < 200 for _, reason in raised.value.record_errors)


def test_a_stored_record_is_not_refused_by_rules_of_today() -> None:
    headers: Headers = [
        (b"tide-delay", b"99999999"),
        (b"tide-new", b"?"),
        (b"tide-priority", b"purple"),
        (b"tide-ttl", None),
        (b"tide-delay", b"1"),
        (b"tide-schedule-id", b"job"),
    ]
    (record,) = replay_records(pack_record(0, -3, None, None, headers), 1, RULES)
    assert record.directive == NO_DIRECTIVE._replace(delay_ms=99_999_999, schedule_id=b"job")
    assert record.timestamp_delta == -3


@pytest.mark.parametrize("codec", range(5))
@pytest.mark.parametrize("builder_class", [DefaultRecordBatchBuilder, KafkaPythonBuilder])
def test_clients_batches_are_opened(builder_class: type, codec: int) -> None:
    builder = builder_class(2, codec, 0, -1, -1, -1, 1 << 20)
    for number in range(200):
        headers = [("trace", b"1"), ("tide-delay", b"%d" % number)] if number % 2 else []
        builder.append(number, NOW_MS + 100 * number, b"k" * number, b"v" * 10 * number, headers)
    ((header, batch),) = split_batches(bytes(builder.build()))
    section = record_section(header, batch)
    assert sniff(section)
    opened = open_records(section, header.record_count, RULES, NOW_MS)
    assert [record.directive.delay_ms for record in opened] == [i if i % 2 else None for i in range(200)]
    assert [record.timestamp_delta for record in opened] == [100 * number for number in range(200)]
    assert b"".join(bytes(section[record.start : record.end]) for record in opened) == bytes(section)


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_any_buffer_is_sniffed_and_opened(kind: type) -> None:
    section = kind(pack_record(0, 1, b"k", b"v", [(b"tide-ttl", b"5")]))
    assert sniff(section)
    assert open_records(section, 1, RULES, NOW_MS)[0].directive.ttl_ms == 5
    assert not sniff(kind(b"tide" * 1000 + b"_tide"))
    assert not sniff(kind(b""))


@pytest.mark.parametrize("filling", [b"t", b"tid", b"tide", b"-", b"\0"])
def test_the_sniff_finds_the_prefix_at_every_alignment(filling: bytes) -> None:
    for size in range(200):
        data = (filling * 200)[:size] + b"tide-" + (b"tide" * 50)[: 200 - size]
        assert sniff(data)
        assert sniff(memoryview(data)[size % 8 :]) == (b"tide-" in data[size % 8 :])
        assert not sniff(data.replace(b"tide-", b"tide_"))


@given(st.binary(max_size=200), st.integers(0, 200))
def test_the_sniff_finds_the_prefix_wherever_it_is(data: bytes, position: int) -> None:
    assert sniff(data) == (b"tide-" in data)
    assert sniff(data[:position] + b"tide-" + data[position:])


FIELDS = st.none() | st.binary(max_size=80) | st.just(b"v" * 9000)
NAMES = st.sampled_from((b"tide-delay", b"tide-ttl", b"tide-priority", b"tide-x", b"h", b"x" * 70)) | st.binary(
    max_size=8
)
VALUES = st.none() | st.sampled_from((b"1", b"3", b"high", b"20000")) | st.binary(max_size=70)
LONGS = st.integers(-(2**63), 2**63 - 1) | st.integers(-100, 10_000)
RECORDS = st.lists(st.tuples(LONGS, LONGS, FIELDS, FIELDS, st.lists(st.tuples(NAMES, VALUES), max_size=4)), max_size=6)


@given(RECORDS)
def test_whole_records_are_opened_where_the_readable_reader_sees_them(
    records: list[tuple[int, int, bytes | None, bytes | None, Headers]],
) -> None:
    section = b"".join(pack_record(*record) for record in records)
    expected = [(span.start, span.end, span.timestamp_delta) for span in walk_records(section, len(records))]
    opened = replay_records(section, len(records), RULES)
    assert [record[:3] for record in opened] == expected
    plain = [not any(name.startswith(b"tide-") for name, _ in headers) for *_, headers in records]
    assert all(record.directive is NO_DIRECTIVE for record, is_plain in zip(opened, plain, strict=True) if is_plain)
    refused = _refused_indexes(section, len(records))
    assert not any(plain[index] for index in refused)
    if not refused:
        assert open_records(section, len(records), RULES, NOW_MS) == opened


def _refused_indexes(section: bytes, count: int) -> list[int]:
    try:
        open_records(section, count, RULES, NOW_MS)
    except InvalidRecord as error:
        return [index for index, _ in error.record_errors]
    return []


def _both(section: bytes, count: int) -> None:
    """The quick reader and the readable one agree on what is a record."""
    try:
        expected = [(span.start, span.end, span.timestamp_delta) for span in walk_records(section, count)]
    except InvalidRecord:
        with pytest.raises(InvalidRecord):
            replay_records(section, count, RULES)
        with pytest.raises(InvalidRecord):
            open_records(section, count, RULES, NOW_MS)
        return
    if any(not -(2**63) <= delta < 2**63 for *_, delta in expected):
        with pytest.raises(InvalidRecord, match="a timestamp delta does not fit 64 bits"):
            replay_records(section, count, RULES)
    else:
        assert [record[:3] for record in replay_records(section, count, RULES)] == expected


@given(st.binary(max_size=100), st.integers(0, 5))
def test_hostile_sections_are_refused_as_by_the_readable_reader(section: bytes, count: int) -> None:
    _both(section, count)


@given(RECORDS.filter(bool), st.data())
def test_damaged_sections_are_refused_as_by_the_readable_reader(
    records: list[tuple[int, int, bytes | None, bytes | None, Headers]], data: st.DataObject
) -> None:
    section = bytearray(b"".join(pack_record(*record) for record in records))
    for _ in range(data.draw(st.integers(1, 3))):
        section[data.draw(st.integers(0, min(len(section), 300) - 1))] = data.draw(st.integers(0, 255))
    _both(bytes(section), len(records))


@pytest.mark.parametrize(
    "section",
    [
        b"",
        varint(-1),
        varint(2**31 - 1) + b"\0",
        pack_record(0, 0, b"k", b"v")[:-1],
        pack_record(0, 0, b"k", b"v", [(b"tide-delay", b"1")])[:-3],
        varint(7) + b"\0\0\0" + varint(-1) + varint(-1) + varint(1) + varint(-1),
        varint(6) + b"\0\0\0" + varint(-2) + varint(-1) + varint(0),
        varint(6) + b"\0\0\0" + varint(-1) + varint(-2) + varint(0),
        varint(5) + b"\0\0\0" + varint(-1) + varint(-1) + varint(-1),
        varint(15) + b"\0" + b"\xff" * 9 + b"\x7f" + b"\0" + varint(-1) + varint(-1) + varint(0),
        varint(16) + b"\0\0" + b"\xff" * 10 + b"\0" + varint(-1) + varint(-1) + varint(0),
    ],
)
def test_a_malformed_record_is_refused_and_named(section: bytes) -> None:
    good = pack_record(0, 0, b"k", b"v", [(b"tide-delay", b"x")])
    with pytest.raises(InvalidRecord, match=r"^record 1 of 2 is malformed: ") as raised:
        open_records(good + section, 2, RULES, NOW_MS)
    assert [index for index, _ in raised.value.record_errors] == [1]


def test_bytes_behind_the_last_record_are_refused() -> None:
    with pytest.raises(InvalidRecord, match="3 bytes follow the last of 1 records"):
        open_records(pack_record(0, 0, b"k", b"v") + b"abc", 1, RULES, NOW_MS)


def test_a_count_beyond_the_records_is_refused() -> None:
    with pytest.raises(InvalidRecord):
        open_records(pack_record(0, 0, None, b"v"), 2**31 - 1, RULES, NOW_MS)


def test_no_records_are_no_trouble() -> None:
    assert open_records(b"", 0, RULES, NOW_MS) == []
    assert OpenedRecord(0, 1, 2, NO_DIRECTIVE).directive == Directive(*[None] * 7)


@pytest.mark.parametrize(
    ("headers", "fault"),
    [
        ([(b"tide-nonsense", b"1")], UNKNOWN_HEADER),
        ([(b"tide-delay", b"soon")], MALFORMED_VALUE),
        ([(b"tide-delay", None)], MALFORMED_VALUE),
        ([(b"tide-priority", b"7")], MALFORMED_VALUE),
        ([(b"tide-delay", b"1"), (b"tide-delay", b"1")], GIVEN_TWICE),
        ([(b"tide-delay", b"1"), (b"tide-deliver-at", b"1")], EXCLUDED),
        ([(b"tide-schedule-id", b"a")], NO_KEY),
        ([(b"tide-delay", b"9" * 18)], TOO_FAR),
    ],
)
def test_a_refusal_tells_the_kind_of_fault_of_the_first(headers: list[tuple[bytes, bytes | None]], fault: str) -> None:
    records = [pack_record(0, 0, None, b"v"), pack_record(1, 0, None, b"v", headers)]
    records.append(pack_record(2, 0, None, b"v", [(b"tide-other", b"")]))
    with pytest.raises(InvalidRecord) as caught:
        open_records(b"".join(records), 3, HeaderRules(1_000, True), 0)
    assert caught.value.header_fault == fault
    assert fault in FAULTS
