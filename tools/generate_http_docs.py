"""Writes docs/reference/http.md from the OpenAPI document: `python -m tools.generate_http_docs`."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tools.doc_tables import table
from wire.http.openapi import CHANGING_HEADER
from wire.http.openapi import document as openapi_document
from wire.registry.media import GIVEN
from wire.registry.openapi import REFUSED

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "reference" / "http.md"
PROBLEMS = "application/problem+json"
UNTOLD = ("/", "/console/{file}")
"""The console's own files, which nobody calls by hand."""
EVERYWHERE = (400, 403, 413, 415, 421, 422, 503)
"""Statuses that stand in the introduction, not with each call."""

_INTRODUCTION = """\
# HTTP calls

Written by `python -m tools.generate_http_docs` from the OpenAPI document, which the broker serves at `/openapi.json`.
Who may call, and how the door is bounded, is told under [the operations door](../operations/http.md); how records are
written and read under [records over HTTP](../http.md) and [groups over HTTP](../http-groups.md).

Every call may be refused with 400 (the body is not JSON, or not what it should be), 403 (the caller may not, or a page
of another origin asks), 413 and 415 (a body that is too large, or of another type), 421 (the request names another
host), 422 (a value that cannot be) and 503 (the broker starts, stops, or cannot answer now: try again). What else a
call may answer stands with it. What is refused is told by a problem document ([errors](errors.md#http)).

A parameter or field is optional unless it says *required*; in an answer that means that it is always there. A browser
that changes something without a body sends the header `X-Tidegate`
([who may call](../operations/http.md#who-may-call)).
"""
REGISTRY = "registry"
_OF_THE_REGISTRY = """
In Confluent's format and with its error codes ([schemas](../schemas.md)). At the registry's own port the same calls are
without the first `/schemas`, unless they are about ids, guids, types or all schemas. Bodies and answers are of any of
the types `{kinds}`, bodies of `application/octet-stream` as well."""
Json = dict[str, Any]


def document() -> str:
    """The whole page."""
    described: Json = json.loads(openapi_document("", needs_token=False))
    lines = [_INTRODUCTION]
    for tag, operations in _by_tag(described["paths"]).items():
        lines.append(f"\n## Calls: {tag}")
        if tag == REGISTRY:
            lines.append(_OF_THE_REGISTRY.format(kinds="`, `".join(GIVEN)))
        for operation in operations:
            lines += operation
    lines += ["\n## Documents\n", "What bodies and answers are made of."]
    for name, schema in sorted(described["components"]["schemas"].items()):
        lines += _schema_part(name, schema)
    return "\n".join([*lines, ""])


def _by_tag(paths: Json) -> dict[str, list[list[str]]]:
    found: dict[str, list[list[str]]] = {}
    for path, methods in sorted(paths.items()):
        for method, operation in methods.items():
            if path not in UNTOLD:
                part = _operation_part(f"{method.upper()} {path}", operation)
                found.setdefault(operation["tags"][0], []).append(part)
    return dict(sorted(found.items()))


def _operation_part(title: str, operation: Json) -> list[str]:
    lines = [f"\n### `{title}`\n", " ".join(operation["description"].split())]
    parameters = [each for each in operation["parameters"] if each["name"] != CHANGING_HEADER]
    if parameters:
        lines += ["", *table(("parameter", "in", "type", "meaning"), map(_parameter, parameters))]
    if "requestBody" in operation:
        kinds = operation["requestBody"]["content"]
        lines.append("\nBody: " + _types(kinds))
    return [*lines, "\nAnswers: " + "; ".join(_answers(operation["responses"]))]


def _parameter(parameter: Json) -> tuple[str, str, str, str]:
    schema = parameter["schema"]
    return (f"`{parameter['name']}`", parameter["in"], _type(schema), _meaning(parameter, parameter["required"]))


def _meaning(described: Json, required: bool) -> str:
    text = described.get("description", "")
    schema = described.get("schema", described)
    if required:
        return f"{text} *required*".strip()
    default = schema.get("default")
    return text if default in (None, "") else f"{text} `{json.dumps(default)}` if left out.".strip()


def _answers(responses: Json) -> Iterator[str]:
    for status, response in responses.items():
        content = response.get("content", {})
        is_refusal = PROBLEMS in content or any(each["schema"] == REFUSED for each in content.values())
        if not is_refusal:
            yield f"{status} {_types(content)}".strip()
        elif status != "default" and int(status) not in EVERYWHERE:
            yield f"{status} {response['description']}"


def _types(content: Json) -> str:
    """What is taken or given; of the registry's types, which are all the same, none is named."""
    if GIVEN[0] in content:
        return _type(content[GIVEN[0]]["schema"])
    return "; ".join(f"`{kind}` {_type(each['schema'])}" for kind, each in content.items())


def _schema_part(name: str, schema: Json) -> list[str]:
    lines = [f"\n### {name}\n", " ".join(schema.get("description", "").split())]
    required = schema.get("required", ())
    rows = [
        (f"`{field}`", _type(described), _meaning(described, field in required))
        for field, described in schema.get("properties", {}).items()
    ]
    if rows:
        lines += ["", *table(("field", "type", "meaning"), rows)]
    elif "properties" not in schema:
        lines.append(f"\n{_type(schema)}")
    return lines


def _type(schema: Json) -> str:
    """A schema in a few words."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_type(each) for each in schema["anyOf"]))
    if "enum" in schema:
        return " or ".join(f"`{json.dumps(value)}`" for value in schema["enum"])
    kind = schema.get("type", "anything")
    if kind == "array":
        return f"list of {_type(schema['items'])}" if "items" in schema else "list"
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"object of {_type(schema['additionalProperties'])}"
    return f"{kind}{_bounds(schema)}"


def _bounds(schema: Json) -> str:
    least, most = schema.get("minimum"), schema.get("maximum")
    if least is not None and most is not None:
        return f" from {least} to {most}"
    return f" from {least}" if least is not None else f" up to {most}" if most is not None else ""


if __name__ == "__main__":
    DOCUMENT.write_text(document(), encoding="utf-8")
