"""What a pipeline can be told: described once, for the command line, for configuration files and for the docs."""

import importlib
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

Kind = Literal["text", "number", "real", "flag", "list", "pairs"]
Values = dict[str, Any]
Run = Callable[[Values], int]

OK, DIFFERENT, WRONG_USE, FAILED = 0, 1, 2, 3
"""How a pipeline ends: done; done, and what was to be found out is bad news; told nonsense; could not."""


class UsageError(Exception):
    """The options make no sense; the message says which and why."""


class PipelineError(Exception):
    """The pipeline could not do its work; the message says what to do."""


@dataclass(frozen=True)
class Option:
    """One option: `max-records` is `--max-records` on the command line, `max_records` elsewhere.

    `list` may be repeated; `pairs` are KEY=VALUE, may be repeated, and become a mapping.
    """

    name: str
    help: str
    kind: Kind = "text"
    default: Any = None
    required: bool = False
    choices: tuple[str, ...] = ()
    least: float | None = None

    @property
    def key(self) -> str:
        return self.name.replace("-", "_")

    @property
    def empty(self) -> Any:
        """What it is if nobody says anything."""
        if self.default is not None:
            return self.default
        return {"list": [], "pairs": {}, "flag": False}.get(self.kind)

    def parse(self, given: Any) -> Any:
        """The value as this option means it, from text or from a configuration file."""
        try:
            value = _PARSERS[self.kind](given)
        except (TypeError, ValueError):
            # A pair may hold a password.
            told = "cannot be taken apart" if self.kind == "pairs" else f"is {given!r}"
            raise UsageError(f"--{self.name} {told}: {_EXPECTED[self.kind]} is expected") from None
        if self.choices and value not in self.choices:
            raise UsageError(f"--{self.name} is {value!r}: it takes {' or '.join(self.choices)}")
        if self.least is not None and value < self.least:
            raise UsageError(f"--{self.name} is {value}: it must be at least {self.least:g}")
        return value


@dataclass(frozen=True)
class Pipeline:
    """A job by name. `target` is loaded when it is run, so that listing pipelines needs no Spark."""

    name: str
    summary: str
    target: str
    options: tuple[Option, ...]

    def load(self) -> Run:
        module, function = self.target.split(":")
        return getattr(importlib.import_module(module), function)  # type: ignore[no-any-return]

    def values(
        self, given: Mapping[str, Any], config_file: str | None = None, below: Mapping[str, Any] | None = None
    ) -> Values:
        """All options: those given (None is not given), else the file's, else those of `below`, else the defaults.

        `below` is what a profile says of a broker; it may name options that this pipeline has not got. Of pairs all
        count that are named anywhere.
        """
        profile = {key: value for key, value in (below or {}).items() if self._knows(key)}
        chosen = {key: value for key, value in given.items() if value is not None}
        from_file = self._read(config_file) if config_file is not None else {}
        known = {option.key: option for option in self.options}
        for key in [*chosen, *from_file]:
            if key not in known:
                raise UsageError(f"{self.name} has no option {key!r}")
        values = {}
        for key, option in known.items():
            present = chosen if key in chosen else from_file if key in from_file else profile
            values[key] = option.parse(present[key]) if key in present else option.empty
            if option.kind == "pairs" and key in profile:
                values[key] = {**profile[key], **values[key]}
            if option.required and values[key] in (None, [], ""):
                raise UsageError(f"--{option.name} is missing: {option.help}")
        return values

    def run(self, values: Values) -> int:
        """Runs the job to its end; the result is the exit status."""
        return self.load()(values)

    def _read(self, config_file: str) -> Values:
        """The file's table of this pipeline, over what it says for all."""
        try:
            content = tomllib.loads(Path(config_file).read_text())
        except (OSError, tomllib.TOMLDecodeError) as error:
            raise UsageError(f"{config_file} cannot be read: {error}") from None
        own = content.get(self.name, {})
        common = {key: value for key, value in content.get("common", {}).items() if self._knows(key)}
        return {key.replace("-", "_"): value for key, value in {**common, **own}.items()}

    def _knows(self, key: str) -> bool:
        return any(option.key == key.replace("-", "_") for option in self.options)


def _flag(given: Any) -> bool:
    if isinstance(given, bool):
        return given
    return {"true": True, "false": False}[str(given).lower()]


def _list(given: Any) -> list[str]:
    pieces: Sequence[Any] = given if isinstance(given, list | tuple) else [given]
    return [word.strip() for piece in pieces for word in str(piece).split(",") if word.strip()]


def _pairs(given: Any) -> dict[str, str]:
    if isinstance(given, Mapping):
        return {str(key): str(value) for key, value in given.items()}
    pairs = {}
    for piece in given if isinstance(given, list | tuple) else [given]:
        key, equals, value = str(piece).partition("=")
        if not equals or not key:
            raise ValueError
        pairs[key.strip()] = value
    return pairs


def _number(given: Any) -> int:
    if isinstance(given, bool | float):
        raise ValueError
    return int(given)


_PARSERS: dict[Kind, Callable[[Any], Any]] = {
    "text": str,
    "number": _number,
    "real": float,
    "flag": lambda given: _flag(given),
    "list": _list,
    "pairs": _pairs,
}
_EXPECTED: dict[Kind, str] = {
    "text": "a text",
    "number": "a whole number",
    "real": "a number",
    "flag": "true or false",
    "list": "a list",
    "pairs": "KEY=VALUE",
}
