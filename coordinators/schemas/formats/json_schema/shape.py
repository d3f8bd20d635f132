"""What the keywords of a JSON Schema hold, whatever the draft, so that whoever walks over one finds what he expects.

The drafts' own schemas say the same, but only of what they call a schema: not of what lies under a keyword that they do
not know, where references lead all the same.
"""

from collections.abc import Iterator
from typing import Any

from coordinators.schemas.formats.format import InvalidSchema

Node = dict[str, Any] | bool

_MAPS = ("properties", "patternProperties", "definitions", "$defs", "dependentSchemas", "dependencies")
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_SINGLE = (
    *("additionalItems", "additionalProperties", "contains", "else", "if", "items", "not", "propertyNames", "then"),
    *("unevaluatedItems", "unevaluatedProperties", "contentSchema"),
)
_TEXTS = ("$ref", "$dynamicRef", "$recursiveRef", "pattern")
_NUMBERS = (
    *("maxLength", "minLength", "maxItems", "minItems", "maxProperties", "minProperties", "maximum", "minimum"),
    "multipleOf",
)
_HOLDS: dict[str, tuple[type, ...]] = {
    **dict.fromkeys((*_MAPS, "dependentRequired"), (dict,)),
    **dict.fromkeys((*_LISTS, "enum"), (list,)),
    **dict.fromkeys(_SINGLE, (dict, bool)),
    **dict.fromkeys(_TEXTS, (str,)),
    **dict.fromkeys(_NUMBERS, (int, float)),
    "items": (dict, bool, list),
    "exclusiveMaximum": (int, float, bool),
    "exclusiveMinimum": (int, float, bool),
    "type": (str, list),
    "required": (list,),
}


def schemas_in(node: dict[str, Any]) -> Iterator[Node]:
    """The schemas that this one is made of; raises `InvalidSchema` if a keyword holds what it cannot."""
    _check(node)
    for keyword in _MAPS:
        for part in node.get(keyword, {}).values():
            if keyword != "dependencies" or not isinstance(part, list):
                yield _schema(part, keyword)
    for keyword in _LISTS:
        for part in node.get(keyword, ()):
            yield _schema(part, keyword)
    for keyword in _SINGLE:
        part = node.get(keyword, True)
        for each in part if isinstance(part, list) else (part,):
            yield _schema(each, keyword)


def _check(node: dict[str, Any]) -> None:
    for keyword in node.keys() & _HOLDS.keys():
        if not isinstance(node[keyword], _HOLDS[keyword]):
            raise InvalidSchema(f"{keyword!r} cannot be {node[keyword]!r:.80}")
    for keyword in ("required", "type"):
        said = node.get(keyword, ())
        if isinstance(said, list) and not all(isinstance(each, str) for each in said):
            raise InvalidSchema(f"{keyword!r} holds what is no text")
    if node.get("multipleOf", 1) <= 0:
        raise InvalidSchema("'multipleOf' is not above zero")


def _schema(part: Any, keyword: str) -> Node:
    if not isinstance(part, dict | bool):
        raise InvalidSchema(f"{keyword!r} holds what is no schema: {part!r:.80}")
    return part
