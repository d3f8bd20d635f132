"""Numbers, bytes, durations and times as people read them, and where the marks of an axis stand."""

import math
from collections.abc import Callable
from datetime import UTC, datetime

Format = Callable[[float], str]

# Steps that a clock or a calendar has, in seconds.
TIME_STEPS = (
    *(1, 2, 5, 10, 15, 30),
    *(60, 120, 300, 600, 900, 1800),
    *(3600, 7200, 10_800, 21_600, 43_200),
    *(86_400, 2 * 86_400, 7 * 86_400, 14 * 86_400, 28 * 86_400, 91 * 86_400, 364 * 86_400),
)


def count_text(value: float) -> str:
    """1,234; 12.3k on from a hundred thousand; small fractions with two digits."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e5, "k")):
        if abs(value) >= size:
            return f"{_digits(value / (1e3 if letter == 'k' else size))}{letter}"
    return f"{value:,.0f}" if value == int(value) or abs(value) >= 100 else _digits(value)


def bytes_text(value: float) -> str:
    """In decimal units, as disks and networks are sold."""
    for size, unit in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if abs(value) >= size:
            return f"{_digits(value / size)} {unit}"
    return f"{_digits(value)} B"


def duration_text(seconds: float) -> str:
    """850 µs, 1.9 ms, 2.4 s, 3 min 12 s, 2 h 5 min, 3 d 4 h."""
    if seconds == 0:
        return "0"
    for size, unit in ((1, "s"), (1e-3, "ms")):
        if abs(seconds) >= size * 0.9995:
            return f"{_digits(seconds / size)} {unit}" if seconds < 120 else _long(seconds)
    return f"{_digits(seconds * 1e6)} µs"


def per_text(seconds: float) -> str:
    """`second` for a second, `5 s` for five: what stands behind "per"."""
    return {1.0: "second", 60.0: "minute", 3600.0: "hour", 86_400.0: "day"}.get(seconds) or duration_text(seconds)


def some(count: int, noun: str) -> str:
    """1 topic, 2 topics."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def factor_text(value: float) -> str:
    return f"{value:.2f}x"


def percent_text(share: float) -> str:
    return f"{100 * share:.1f} %"


def time_text(epoch_s: float) -> str:
    """To the second, in UTC."""
    return datetime.fromtimestamp(epoch_s, UTC).strftime("%Y-%m-%d %H:%M:%S")


def span_text(first_s: float, last_s: float) -> str:
    """From when to when, the day only once if it is the same."""
    first, last = time_text(first_s), time_text(last_s)
    return f"{first} to {last.removeprefix(first[:11])} UTC"


def linear_marks(highest: float, most: int = 5, *, whole: bool = False) -> list[float]:
    """From zero to a round number at or above `highest`, in round steps; of what is counted there are no halves."""
    if highest <= 0:
        return [0.0, 1.0]
    if whole and highest <= most:
        return [float(number) for number in range(math.ceil(highest) + 1)]
    rough = highest / most
    power = 10.0 ** math.floor(math.log10(rough))
    sizes = (1, 2, 5, 10) if whole else (1, 2, 2.5, 5, 10)
    step = next(power * each for each in sizes if power * each * most >= highest * (1 - 1e-9))
    return [step * number for number in range(math.ceil(highest / step - 1e-9) + 1)]


def logarithmic_marks(lowest: float, highest: float) -> list[float]:
    """Powers of ten around both."""
    low, high = math.floor(math.log10(lowest) + 1e-9), math.ceil(math.log10(highest) - 1e-9)
    return [10.0**power for power in range(low, max(high, low + 1) + 1)]


def time_marks(first_s: float, last_s: float, most: int = 8) -> list[tuple[float, str]]:
    """Round times between both, with as much of the time as tells them apart."""
    step = next((each for each in TIME_STEPS if (last_s - first_s) / each <= most), TIME_STEPS[-1])
    shape = "%b %d" if step >= 86_400 else "%H:%M" if step >= 60 else "%H:%M:%S"
    if step < 86_400 <= last_s - first_s:
        shape = "%b %d " + shape
    marks = range(math.ceil(first_s / step) * step, math.floor(last_s) + 1, step)
    return [(float(at), datetime.fromtimestamp(at, UTC).strftime(shape)) for at in marks]


def _digits(value: float) -> str:
    """Three digits that matter, without zeros behind them."""
    size = abs(value)
    places = 0 if size >= 99.95 else 1 if size >= 9.995 else 2
    text = f"{value:,.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _long(seconds: float) -> str:
    for size, unit, below, smaller in ((86_400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if seconds >= size:
            whole, rest = divmod(round(seconds / below), size // below)
            return f"{whole} {unit}" + (f" {rest} {smaller}" if rest else "")
    raise AssertionError(seconds)
