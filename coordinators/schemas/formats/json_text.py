"""Texts of JSON from strangers: read within bounds of size and depth, and printed without white space."""

import json
import math
from typing import Any, NoReturn

from coordinators.schemas.formats.format import MOST_LEVELS, InvalidSchema, check_size

MOST_NESTING = 4 * MOST_LEVELS
"""Of brackets: a level of types takes up to four of them."""

MOST_DIGITS = 300
"""More are beyond what a number with a point can be, and are compared with such."""


def read_json(text: str) -> Any:
    """What the text says; raises `InvalidSchema`."""
    check_size(text)
    try:
        value = json.loads(text, parse_constant=_no_constant, parse_int=_integer, parse_float=_number)
    except RecursionError:
        raise _too_deep() from None
    except ValueError as error:
        raise InvalidSchema(f"not JSON: {error}") from None
    if is_deeper(value, MOST_NESTING):
        raise _too_deep()
    return value


def print_json(value: Any, *, sort_keys: bool = False) -> str:
    """The value on one line, with nothing in it that could be left out."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=sort_keys)


def is_deeper(value: Any, most_levels: int) -> bool:
    """Whether arrays and objects are nested in each other beyond so many levels, the values in them counted."""
    level, values = 0, [value]
    while values:
        level += 1
        if level > most_levels:
            return True
        values = [
            inner
            for outer in values
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
    return False


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _integer(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise ValueError(f"a number of {len(digits)} digits")
    return int(digits)


def _number(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError(f"{digits[:20]} is beyond what a number can be")
    return number


def _too_deep() -> InvalidSchema:
    return InvalidSchema(f"nested more than {MOST_NESTING} levels deep")
