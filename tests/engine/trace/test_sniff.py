"""Finding the records to trace, without opening the others."""

from hypothesis import given
from hypothesis import strategies as st

from engine.trace.context import parse_traceparent
from engine.trace.sniff import mark_in, with_context, without_context
from tests.engine.trace.traces import TRACE_ID, Headers, section, trace_header, traceparent

PLAIN: Headers = ((b"source", b"test"),)


def ids(data: bytes, at_most: int = 100) -> list[tuple[int, str]]:
    mark = mark_in(data)
    found = with_context(data, mark, at_most) if mark >= 0 else []
    return [(record.offset_delta, record.context.trace_id) for record in found if record.context is not None]


def test_the_traced_record_among_others() -> None:
    data = section([(b"a", b"1", PLAIN), (b"b", b"2", (*PLAIN, trace_header())), (b"c", b"3", ())])
    assert ids(data) == [(1, TRACE_ID)]
    assert with_context(data, mark_in(data), 1)[0].key == b"b"


def test_a_plain_section_has_no_mark() -> None:
    assert mark_in(section([(b"a", b"1" * 10_000, PLAIN)])) == -1


def test_a_value_that_looks_like_the_header_is_none() -> None:
    forged = b"\x16traceparent\x6e" + traceparent()
    assert ids(section([(b"a", forged, PLAIN), (forged, None, ())])) == []


def test_a_record_that_is_not_sampled_is_passed_over() -> None:
    data = section([(b"a", b"1", (trace_header(sampled=False),)), (b"b", b"2", (trace_header("1" * 32),))])
    assert ids(data) == [(1, "1" * 32)]


def test_no_more_than_asked_for() -> None:
    data = section([(b"a", b"1", (trace_header(),))] * 10)
    assert [delta for delta, _ in ids(data, at_most=3)] == [0, 1, 2]


def test_the_state_comes_with_it() -> None:
    data = section([(b"a", b"1", (trace_header(), (b"tracestate", b"vendor=x")))])
    (found,) = with_context(data, mark_in(data), 1)
    assert found.context is not None
    assert found.context.state == "vendor=x"


def test_large_records_and_long_headers() -> None:
    longer = (b"traceparent", b"01" + traceparent()[2:] + b"-" + b"x" * 100)
    data = section([(None, b"v" * 20_000, ()), (b"k" * 300, b"v", (longer,)), (None, None, (trace_header(),))])
    assert [delta for delta, _ in ids(data)] == [1, 2]


def test_records_without_context_by_their_numbers() -> None:
    data = section([(b"a", b"1", ()), (b"b", b"2", (trace_header(sampled=False),)), (b"c", b"3", PLAIN)])
    found = list(without_context(data, [0, 1, 2]))
    assert [(record.offset_delta, record.key) for record in found] == [(0, b"a"), (2, b"c")]
    assert next(without_context(data, [2])).key == b"c"
    assert [record.key for record in without_context(data, [0, 7])] == [b"a"], "a count that lies ends the search"


headers = st.lists(
    st.one_of(
        st.tuples(st.binary(max_size=12), st.binary(max_size=70)),
        st.booleans().map(lambda sampled: trace_header(sampled=sampled)),
        st.binary(max_size=60).map(lambda value: (b"traceparent", value)),
    ),
    max_size=3,
)
records = st.lists(st.tuples(st.binary(max_size=200), st.binary(max_size=300), headers), min_size=1, max_size=12)


def expected(each: Headers) -> str | None:
    values = [value for name, value in each if name == b"traceparent"]
    context = parse_traceparent(values[-1]) if values else None
    return context.trace_id if context is not None and context.sampled else None


@given(records)
def test_it_finds_what_opening_every_record_would(made: list[tuple[bytes, bytes, Headers]]) -> None:
    wanted = [(delta, found) for delta, (_, _, each) in enumerate(made) if (found := expected(each)) is not None]
    assert ids(section(made)) == wanted


@given(records, st.data())
def test_damage_never_raises(made: list[tuple[bytes, bytes, Headers]], data: st.DataObject) -> None:
    damaged = bytearray(section([*made, (b"k", b"v", (trace_header(),))]))
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    ids(bytes(damaged))
    list(without_context(bytes(damaged), range(len(made) + 3)))
