"""Values of Avro's logical types as people write them, within what JSON can express.

A value that its logical type cannot have (a day beyond the year 9999, a decimal of thousands of digits) is shown as the
number or bytes that it is: Avro's readers do the same with what they do not understand.
"""

import math
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any, TypeVar

from coordinators.schemas.formats.avro.types import AvroType, FixedType
from coordinators.schemas.formats.format import InvalidPayload

_EPOCH_DAY = date(1970, 1, 1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MOST_SCALE = 1_000
_MOST_DECIMAL_BYTES = 1_000
"""Of a number with all its digits: to find those of a million bytes takes minutes, in which nothing else runs."""
_Cursor = TypeVar("_Cursor")


def for_people(avro_type: AvroType, read: Callable[[_Cursor], Any]) -> Callable[[_Cursor], Any]:
    """A reader like this one that gives its values in a form to be shown."""
    shown = _shown(avro_type)
    if shown is None:
        return read
    show = shown

    def read_and_show(cursor: _Cursor) -> Any:
        return show(read(cursor))

    return read_and_show


def exactly(avro_type: AvroType, read: Callable[[_Cursor], Any]) -> Callable[[_Cursor], Any]:
    """A reader like this one that gives its values as Avro has them in JSON, whatever they stand for."""
    if avro_type.kind in ("bytes", "fixed"):
        return lambda cursor: read(cursor).decode("latin-1")
    if avro_type.kind in ("float", "double"):
        return lambda cursor: _number(read(cursor))
    return read


def _number(value: float) -> float | str:
    """As Java writes what JSON has no numbers for."""
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _shown(avro_type: AvroType) -> Callable[[Any], Any] | None:
    kind, logical = avro_type.kind, avro_type.properties.get("logicalType")
    if kind in ("bytes", "fixed"):
        scale = avro_type.properties.get("scale", 0)
        if logical == "decimal" and isinstance(scale, int) and 0 <= scale <= _MOST_SCALE:
            return lambda value: _decimal(value, scale)
        # As in Avro's own JSON.
        return lambda value: value.decode("latin-1")
    if kind in ("float", "double"):
        return lambda value: value if math.isfinite(value) else str(value)
    if isinstance(logical, str) and (kind, logical) in _SHOWN:
        return _carefully(_SHOWN[kind, logical])
    return None


def _decimal(value: bytes, scale: int) -> str:
    """With every digit; a number beyond the bound as the bytes that it is."""
    if len(value) > _MOST_DECIMAL_BYTES:
        return value.decode("latin-1")
    number = int.from_bytes(value, "big", signed=True)
    digits = str(abs(number)).rjust(scale + 1, "0")
    point = len(digits) - scale
    return ("-" if number < 0 else "") + (f"{digits[:point]}.{digits[point:]}" if scale else digits)


def _carefully(show: Callable[[int], str]) -> Callable[[Any], Any]:
    def shown(value: int) -> Any:
        try:
            return show(value)
        except (OverflowError, ValueError):
            return value

    return shown


def _moment(microseconds: int) -> str:
    return (_EPOCH + timedelta(microseconds=microseconds)).isoformat()


def _time_of_day(microseconds: int) -> str:
    if not 0 <= microseconds < 86_400_000_000:
        raise ValueError
    return (_EPOCH + timedelta(microseconds=microseconds)).time().isoformat()


_SHOWN: dict[tuple[str, str], Callable[[int], str]] = {
    ("int", "date"): lambda days: (_EPOCH_DAY + timedelta(days=days)).isoformat(),
    ("int", "time-millis"): lambda value: _time_of_day(value * 1000),
    ("long", "time-micros"): _time_of_day,
    ("long", "timestamp-millis"): lambda value: _moment(value * 1000),
    ("long", "timestamp-micros"): _moment,
    ("long", "local-timestamp-millis"): lambda value: _moment(value * 1000).removesuffix("+00:00"),
    ("long", "local-timestamp-micros"): lambda value: _moment(value).removesuffix("+00:00"),
}


# -- the other way


def as_meant(avro_type: AvroType) -> Callable[[Any], Any] | None:
    """What makes of a value as it is shown the one that it stands for; others it leaves as they are. None where a type
    has but one form."""
    kind, logical = avro_type.kind, avro_type.properties.get("logicalType")
    if kind in ("bytes", "fixed"):
        scale = avro_type.properties.get("scale", 0)
        if logical == "decimal" and isinstance(scale, int) and 0 <= scale <= _MOST_SCALE:
            size = avro_type.size if isinstance(avro_type, FixedType) else None
            return lambda value: _decimal_bytes(value, scale, size)
        return None
    if kind in ("float", "double"):
        return lambda value: _NAMES_OF_NUMBERS.get(value, value) if isinstance(value, str) else value
    if isinstance(logical, str) and (kind, logical) in _MEANT:
        return _read_carefully(logical, _MEANT[kind, logical])
    return None


def _decimal_bytes(value: Any, scale: int, size: int | None) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return value
    try:
        # A number of JSON is meant as it is written, not as it is kept.
        number = Decimal(str(value))
    except InvalidOperation:
        raise InvalidPayload(f"{value!r:.100} is no decimal") from None
    sign, digits, exponent = number.as_tuple()
    if not isinstance(exponent, int) or abs(number.adjusted()) > _MOST_SCALE or len(digits) > _MOST_SCALE:
        raise InvalidPayload(f"{value!r:.100} is no decimal of {_MOST_SCALE} digits at most")
    whole = int("".join(map(str, digits))) * 10 ** max(exponent + scale, 0)
    unscaled, rest = divmod(whole, 10 ** max(-exponent - scale, 0))
    if rest:
        raise InvalidPayload(f"{value!r:.100} has more than {scale} digits behind the point")
    unscaled = -unscaled if sign else unscaled
    try:
        return unscaled.to_bytes(size or unscaled.bit_length() // 8 + 1, "big", signed=True).decode("latin-1")
    except OverflowError:
        raise InvalidPayload(f"{value!r:.100} does not fit into {size} bytes") from None


def _read_carefully(logical: str, read: Callable[[str], int]) -> Callable[[Any], Any]:
    def meant(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return read(value)
        except ValueError:
            raise InvalidPayload(f"{value!r:.100} is no {logical} as ISO 8601 has it") from None

    return meant


def _since_epoch(text: str) -> int:
    """Microseconds; what names no zone is in UTC."""
    moment = datetime.fromisoformat(text)
    return (moment.replace(tzinfo=moment.tzinfo or UTC) - _EPOCH) // timedelta(microseconds=1)


def _local_since_epoch(text: str) -> int:
    return (datetime.fromisoformat(text).replace(tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)


def _since_midnight(text: str) -> int:
    found = time.fromisoformat(text)
    return ((found.hour * 60 + found.minute) * 60 + found.second) * 1_000_000 + found.microsecond


_NAMES_OF_NUMBERS = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
_MEANT: dict[tuple[str, str], Callable[[str], int]] = {
    ("int", "date"): lambda text: (date.fromisoformat(text) - _EPOCH_DAY).days,
    ("int", "time-millis"): lambda text: _since_midnight(text) // 1000,
    ("long", "time-micros"): _since_midnight,
    ("long", "timestamp-millis"): lambda text: _since_epoch(text) // 1000,
    ("long", "timestamp-micros"): _since_epoch,
    ("long", "local-timestamp-millis"): lambda text: _local_since_epoch(text) // 1000,
    ("long", "local-timestamp-micros"): _local_since_epoch,
}
