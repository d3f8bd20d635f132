"""Stepping over payloads, compiled: it judges as the form in Python does, and both as reading does."""

import json
import subprocess
import sys
import threading
from array import array
from collections.abc import Callable
from io import BytesIO
from random import Random
from typing import Any

import fastavro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coordinators.schemas.formats.avro import stepping
from coordinators.schemas.formats.avro.decoding import decoder
from coordinators.schemas.formats.avro.safety import is_bounded
from coordinators.schemas.formats.avro.schema import FORMAT
from coordinators.schemas.formats.avro.skipping import skipper
from coordinators.schemas.formats.avro.types import AvroType
from coordinators.schemas.formats.format import InvalidPayload
from tests.coordinators.schemas.formats.avro.chance import Chance
from tests.coordinators.schemas.formats.avro.orders import parsed
from tools import compile as compiling

compiled_only = pytest.mark.skipif(not stepping.is_compiled, reason="there is no compiled form here")
CHANCES = st.integers(0, 2**32).map(Random)


def can_be_read(decode: Callable[[bytes], Any], payload: bytes) -> bool:
    try:
        decode(payload)
    except InvalidPayload:
        return False
    return True


def bounded(random: Random) -> tuple[Chance, Any, AvroType]:
    """A schema of which payloads are stepped over, as most are."""
    while True:
        chance = Chance(random)
        schema = chance.schema()
        avro_type = parsed(schema).type
        if is_bounded(avro_type):
            return chance, schema, avro_type


@compiled_only
@given(CHANCES)
@settings(max_examples=120, deadline=None)
def test_whatever_a_writer_writes_is_accepted(random: Random) -> None:
    chance, schema, avro_type = bounded(random)
    payload = chance.payload(schema)
    if payload is not None:
        assert stepping.stepper(avro_type)(payload)
        assert skipper(avro_type)(payload)
        fastavro.schemaless_reader(BytesIO(payload), schema)


@compiled_only
@given(CHANCES)
@settings(max_examples=120, deadline=None)
def test_damage_is_judged_as_by_python_and_by_reading(random: Random) -> None:
    chance, schema, avro_type = bounded(random)
    compiled, in_python, decode = stepping.stepper(avro_type), skipper(avro_type), decoder(avro_type)
    whole = chance.payload(schema) or b""
    for _ in range(8):
        payload = chance.damaged(whole)
        verdict = compiled(payload)
        assert verdict == in_python(payload)
        assert verdict == can_be_read(decode, payload)


@compiled_only
@given(CHANCES)
@settings(max_examples=30, deadline=None)
def test_a_payload_cut_anywhere_is_judged_by_what_is_left_alone(random: Random) -> None:
    """The bytes behind the end are those that were cut off: who reads over it would find it whole."""
    chance, schema, avro_type = bounded(random)
    whole = chance.payload(schema) or b""
    compiled, decode = stepping.stepper(avro_type), decoder(avro_type)
    row = memoryview(whole)
    for end in range(len(whole)):
        assert compiled(row[:end]) == can_be_read(decode, whole[:end])  # type: ignore[arg-type]


@pytest.mark.parametrize("step", [skipper, stepping.stepper], ids=["python", "the-one-in-use"])
@pytest.mark.parametrize(
    ("schema", "payload"),
    [
        ({"type": "array", "items": "int"}, b"\xfe\xff\xff\xff\xff\xff\xff\xff\x7f\x02"),
        ({"type": "array", "items": "int"}, b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00\x02\x00"),
        ({"type": "array", "items": "int"}, b"\x03\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02\x02\x00"),
        ({"type": "map", "values": "null"}, b"\xfe\xff\xff\xff\xff\xff\xff\xff\x7f\x00"),
        ("string", b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01ab"),
        ("bytes", b"\xfe\xff\xff\xff\x0fab"),
        ("bytes", b"\x01a"),
        ({"type": "fixed", "name": "F", "size": 2**31 - 1}, b"ab"),
        (["null", "int"], b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
        ([], b"\x00"),
        ([], b""),
        ({"type": "array", "items": []}, b"\x02\x00\x00"),
    ],
)
def test_lengths_and_counts_that_promise_too_much_are_refused(
    schema: Any, payload: bytes, step: Callable[[AvroType], Callable[[bytes], bool]]
) -> None:
    assert not step(parsed(schema).type)(payload)


@pytest.mark.parametrize("items", ["null", {"type": "record", "name": "N", "fields": []}])
def test_countless_items_that_take_no_bytes_end_soon(items: Any) -> None:
    """Ten bytes promise 2^62 of them."""
    schema = parsed({"type": "array", "items": items})
    with pytest.raises(InvalidPayload, match="no bytes"):
        schema.validator()(b"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01\x00")


def nested(levels: int) -> Any:
    """An array of arrays, and so on."""
    schema: Any = "int"
    for _ in range(levels):
        schema = {"type": "array", "items": [schema]}
    return schema


@pytest.mark.parametrize("levels", [1, 49])
def test_types_as_deep_as_they_may_be_are_stepped_over(levels: int) -> None:
    avro_type = parsed(nested(levels)).type
    payload = b"\x02\x00" * levels + b"\x06" + b"\x00" * levels
    assert stepping.stepper(avro_type)(payload)
    assert not stepping.stepper(avro_type)(payload[:-1])


@compiled_only
def test_a_program_that_calls_itself_stops_before_the_stack_ends() -> None:
    """There are none such; a stack that overflows would end the broker."""
    calls_itself = array("i", [stepping.CALL, 0, stepping.END, stepping.END])
    in_items = array("i", [stepping.BLOCKS, 0, stepping.END, stepping.END])
    verdicts: list[bool] = []

    def work() -> None:
        for program in (calls_itself, in_items):
            verdicts.append(stepping._stepping.is_sound(program, b"\x02" * 100_000))

    before = threading.stack_size(256 * 1024)
    try:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    assert verdicts == [False, False]


@compiled_only
@given(st.lists(st.integers(-3, 12) | st.integers(-(2**31), 2**31 - 1), max_size=12), st.binary(max_size=12))
@settings(max_examples=300)
def test_no_program_leads_out_of_itself_or_of_the_payload(numbers: list[int], payload: bytes) -> None:
    """Programs are made by `stepping` alone; one that is wrong must be refused, not followed."""
    assert stepping._stepping.is_sound(array("i", numbers), payload) in (True, False)


@compiled_only
def test_it_says_what_it_takes() -> None:
    for arguments in ((), (b"",), (b"", b"", b""), (1, b""), (b"", 1)):
        with pytest.raises(TypeError):
            stepping._stepping.is_sound(*arguments)  # type: ignore[call-arg,arg-type]


def test_where_there_is_a_compiler_the_compiled_form_is_the_one_in_use() -> None:
    """An object that was left behind, or none although there could be one, would cost every record."""
    try:
        subprocess.run(["cc", "--version"], capture_output=True, check=True)
    except OSError:
        pytest.skip("no compiler")
    compiling.compiled()
    program = "from coordinators.schemas.formats.avro.stepping import is_compiled; print(is_compiled)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=compiling.ROOT, check=True
    )
    assert done.stdout.strip() == "True"


def test_without_a_compiled_form_the_one_in_python_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stepping, "is_compiled", False)
    check = FORMAT.parse(json.dumps({"type": "array", "items": "string"})).validator()
    check(b"\x02\x02a\x00")
    with pytest.raises(InvalidPayload, match="expected"):
        check(b"\x02\x04a\x00")


def test_what_is_the_same_is_written_once() -> None:
    """A type that holds another twice, which holds another twice, and so on, would be a program without end."""
    schema: Any = {"type": "record", "name": "N0", "fields": [{"name": "a", "type": "string"}]}
    for level in range(1, 60):
        fields = [{"name": "a", "type": schema}, {"name": "b", "type": f"N{level - 1}"}]
        schema = {"type": "record", "name": f"N{level}", "fields": fields}
    assert len(stepping.program(parsed(schema).type)) < 60 * 6
