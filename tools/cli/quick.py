"""Options without pydantic: typer reads every value with it, and to load it takes longer than most commands.

What is plainly a text, a number in its bounds or one of the choices is taken here; everything else, above all what is
wrong, goes the way that typer knows, with its messages.
"""

from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import Any, get_args, get_origin

_NOT_PLAIN = object()
# typer's help would say `<int range>`, and tell of a flag as if it took a value.
_METAVARS = {bool: "", int: "N", float: "N", str: "TEXT", Path: "FILE"}


def quickened(params: Sequence[Any]) -> list[Any]:
    """The same parameters, quicker."""
    for param in params:
        descriptor = getattr(param, "type_descriptor", None)
        if descriptor is not None and "process_value" not in vars(param):
            _quicken(param, descriptor.annotation)
            if param.metavar is None and param.param_type_name == "option":
                param.metavar = _METAVARS.get(_element(descriptor.annotation))
    return list(params)


def _element(annotation: Any) -> Any:
    return get_args(annotation)[0] if get_origin(annotation) is list else annotation


def _quicken(param: Any, annotation: Any) -> None:
    ordinary = param.process_value
    has_parser = getattr(param.type_descriptor.parameter_info, "parser", None) is not None

    def process_value(context: Any, value: Any) -> Any:
        taken = _NOT_PLAIN if has_parser else _plain(value, annotation, param)
        if taken is _NOT_PLAIN or (param.required and param.value_is_missing(taken)):
            return ordinary(context, value)
        return taken if param.callback is None else param.callback(context, param, taken)

    param.process_value = process_value


def _plain(value: Any, annotation: Any, param: Any) -> Any:
    is_many = param.multiple or param.nargs == -1
    if value is None:
        return () if is_many else None
    if not is_many:
        return _one(value, annotation, param)
    if get_origin(annotation) is not list or not isinstance(value, list | tuple):
        return _NOT_PLAIN
    taken = [_one(each, get_args(annotation)[0], param) for each in value]
    return _NOT_PLAIN if any(each is _NOT_PLAIN for each in taken) else taken


def _one(value: Any, annotation: Any, param: Any) -> Any:
    if not isinstance(annotation, type):
        return _NOT_PLAIN
    if type(value) is annotation and not isinstance(value, int | float):
        return value
    if annotation is bool or isinstance(value, bool):
        return value if annotation is bool and isinstance(value, bool) else _NOT_PLAIN
    if issubclass(annotation, Enum):
        return next((each for each in annotation if value in (each, each.value)), _NOT_PLAIN)
    if annotation is Path:
        return _path(value, param)
    if annotation is int or annotation is float:
        return _number(value, annotation, param)
    return _NOT_PLAIN


def _path(value: Any, param: Any) -> Any:
    info = param.type_descriptor.parameter_info
    asks = info.exists or info.resolve_path or not (info.file_okay and info.dir_okay)
    return Path(value) if isinstance(value, str) and not asks else _NOT_PLAIN


def _number(value: Any, annotation: type, param: Any) -> Any:
    info = param.type_descriptor.parameter_info
    try:
        number = annotation(value)
    except (TypeError, ValueError):
        return _NOT_PLAIN
    is_low = info.min is not None and number < info.min
    is_high = info.max is not None and number > info.max
    return _NOT_PLAIN if is_low or is_high or number != number else number
