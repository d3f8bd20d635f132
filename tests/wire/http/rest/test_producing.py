"""Records as the proxy's formats have them: read, refused, and told."""

from functools import partial

import pytest

from engine.errors import InvalidRecord, NotLeader
from wire.http.rest import formats
from wire.http.rest.producing import (
    DataV3,
    HeaderV2,
    OffsetV2,
    RecordsV2,
    RecordV2,
    RecordV3,
    failed_v3,
    produced_v2,
    record_v3,
    records_v2,
    time_text,
)
from wire.http.rest.refusals import RestRefusal
from wire.inner.records import NewRecord, SentRecord

BINARY, JSON = partial(formats.read, formats.BINARY), partial(formats.read, formats.JSON)


def test_the_path_decides_the_partition_and_may_not_be_contradicted() -> None:
    (made,) = records_v2(RecordsV2([RecordV2(value="AAE=")]), 3, BINARY, BINARY)
    assert made == NewRecord(value=b"\0\1", headers=[], partition=3)
    with pytest.raises(RestRefusal, match="record 0 is for partition 1, the path for 3"):
        records_v2(RecordsV2([RecordV2(partition=1)]), 3, BINARY, BINARY)


def test_what_is_wrong_with_which_record_is_told() -> None:
    with pytest.raises(RestRefusal, match="the value of record 1 is not base64"):
        records_v2(RecordsV2([RecordV2(), RecordV2(value="?")]), None, BINARY, BINARY)
    with pytest.raises(RestRefusal, match="the header h of record 0"):
        records_v2(RecordsV2([RecordV2(headers=[HeaderV2("h", "?")])]), None, JSON, JSON)


def test_a_null_in_json_is_a_record_without_value() -> None:
    (made,) = records_v2(RecordsV2([RecordV2(key="a", value=None)]), None, JSON, JSON)
    assert (made.key, made.value) == (b'"a"', None)


def test_each_record_is_told_whether_to_try_again() -> None:
    outcomes = [SentRecord(1, 7, 0), InvalidRecord("never"), NotLeader("not now")]
    assert produced_v2(outcomes).offsets == [
        OffsetV2(1, 7),
        OffsetV2(error_code=1, error="never"),
        OffsetV2(error_code=2, error="not now"),
    ]


@pytest.mark.parametrize(
    ("given", "time_ms"),
    [(None, None), (5, 5), ("1970-01-01T00:00:01Z", 1000), ("1970-01-01T01:00:01.5+01:00", 1500)],
)
def test_times_are_iso_or_milliseconds(given: str | int | None, time_ms: int | None) -> None:
    assert record_v3(RecordV3(timestamp=given), {}).timestamp_ms == time_ms


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (RecordV3(timestamp="soon"), "no time"),
        (RecordV3(value=DataV3("x", "XML")), "BINARY, JSON, STRING, AVRO"),
        (RecordV3(value=DataV3("x", "JSON", schema_id=3)), "JSON goes by no schema"),
        (RecordV3(value=DataV3(1, "STRING")), "the value must be text"),
    ],
)
def test_what_cannot_be_written_is_refused_with_its_code(record: RecordV3, words: str) -> None:
    with pytest.raises(RestRefusal, match=words) as caught:
        record_v3(record, {})
    assert failed_v3(caught.value)[0] in (422, 42203)


def test_times_are_told_in_milliseconds() -> None:
    assert time_text(1_700_000_000_123) == "2023-11-14T22:13:20.123Z"
