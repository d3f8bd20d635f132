"""The calls that are made to both registries, in this order, on empty ones; and why an answer may differ."""

import json
from typing import Any

from attrs import frozen


@frozen
class RegistryCall:
    """One of them. Those that set the scene for others are of no topic."""

    topic: str
    method: str
    path: str
    body: Any = None


def avro(*fields: str, name: str = "Order") -> str:
    """A record of integers; a field that ends with = has a default."""
    found: list[dict[str, Any]] = [
        {"name": each.rstrip("="), "type": "int", **({"default": 0} if each.endswith("=") else {})} for each in fields
    ]
    return json.dumps({"type": "record", "name": name, "fields": found}, separators=(",", ":"))


def json_schema(*names: str) -> dict[str, str]:
    """A closed object of these texts."""
    properties = {name: {"type": "string"} for name in names}
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return {"schemaType": "JSON", "schema": json.dumps(schema)}


ONE, TWO, UNFIT = {"schema": avro("a")}, {"schema": avro("a", "b=")}, {"schema": avro("a", "c")}
PROTO = {"schemaType": "PROTOBUF", "schema": 'syntax = "proto3";\n\nmessage Order {\n  int32 id = 1;\n}\n'}
REFERENCE = [{"name": "Order", "subject": "s", "version": 1}]
BASKET = {"schema": '{"type":"array","items":"Order"}', "references": REFERENCE}
VERSIONS, FITS = "/subjects/s/versions", "/compatibility/subjects/s/versions"

LEVEL, CONTEXTS, LISTS = "the level without a setting", "`/contexts`", "lists of subjects"
REGISTER, SHOW = "`POST /subjects/{s}/versions`", "answers with a schema"
NO_SCHEMA, BAD_VERSION = "without `schema`, with an unknown `schemaType`", "a version of `0` or `x`"
VERBOSE = "compatibility with `verbose`"
OWN = "`/config/{s}`, `/mode/{s}` without a value of their own"
READ_ONLY, TWICE = "mode READONLY", "deleting twice, or for good at once"
MODES, CONFIG = "a mode that there is not", "`PUT /config`"
MISSING, COMPATIBLE = "what there is not", "whether a schema fits"
REFERENCES, DELETING = "references", "deleting"

CALLS = (
    RegistryCall(LISTS, "GET", "/subjects"),
    RegistryCall(LISTS, "GET", "/schemas/types"),
    RegistryCall(CONTEXTS, "GET", "/contexts"),
    RegistryCall(LEVEL, "GET", "/config"),
    RegistryCall(CONFIG, "PUT", "/config", {"compatibility": "BACKWARD"}),
    RegistryCall(CONFIG, "GET", "/config"),
    RegistryCall(CONFIG, "PUT", "/config", {"compatibility": "SOMEHOW"}),
    RegistryCall(OWN, "GET", "/mode"),
    RegistryCall(REGISTER, "POST", VERSIONS, ONE),
    RegistryCall(REGISTER, "POST", VERSIONS, ONE),
    RegistryCall(REGISTER, "POST", "/subjects/other/versions", ONE),
    RegistryCall(REGISTER, "POST", VERSIONS, TWO),
    RegistryCall(REGISTER, "POST", VERSIONS, UNFIT),
    RegistryCall(REGISTER, "POST", "/subjects/json/versions", json_schema("a")),
    RegistryCall(REGISTER, "POST", "/subjects/proto/versions", PROTO),
    RegistryCall(NO_SCHEMA, "POST", VERSIONS, {"schema": "nonsense"}),
    RegistryCall(NO_SCHEMA, "POST", VERSIONS, {}),
    RegistryCall(NO_SCHEMA, "POST", VERSIONS, {"schema": "{}", "schemaType": "XML"}),
    RegistryCall(SHOW, "POST", "/subjects/s", ONE),
    RegistryCall(SHOW, "POST", "/subjects/s", TWO),
    RegistryCall(MISSING, "POST", "/subjects/s", UNFIT),
    RegistryCall(MISSING, "POST", "/subjects/none", ONE),
    RegistryCall(LISTS, "GET", "/subjects"),
    RegistryCall(LISTS, "GET", "/subjects?subjectPrefix=o"),
    RegistryCall(LISTS, "GET", VERSIONS),
    RegistryCall(MISSING, "GET", "/subjects/none/versions"),
    RegistryCall(SHOW, "GET", f"{VERSIONS}/1"),
    RegistryCall(SHOW, "GET", f"{VERSIONS}/latest"),
    RegistryCall(SHOW, "GET", f"{VERSIONS}/-1"),
    RegistryCall(SHOW, "GET", "/subjects/json/versions/1"),
    RegistryCall(SHOW, "GET", "/subjects/proto/versions/1"),
    RegistryCall(SHOW, "GET", f"{VERSIONS}/1/schema"),
    RegistryCall(MISSING, "GET", f"{VERSIONS}/9"),
    RegistryCall(BAD_VERSION, "GET", f"{VERSIONS}/0"),
    RegistryCall(BAD_VERSION, "GET", f"{VERSIONS}/x"),
    RegistryCall(SHOW, "GET", "/schemas/ids/1"),
    RegistryCall(SHOW, "GET", "/schemas/ids/3"),
    RegistryCall(LISTS, "GET", "/schemas/ids/1/subjects"),
    RegistryCall(LISTS, "GET", "/schemas/ids/1/versions"),
    RegistryCall(MISSING, "GET", "/schemas/ids/99"),
    RegistryCall(COMPATIBLE, "POST", FITS, TWO),
    RegistryCall(COMPATIBLE, "POST", FITS, UNFIT),
    RegistryCall(COMPATIBLE, "POST", f"{FITS}/latest", UNFIT),
    RegistryCall(COMPATIBLE, "POST", f"{FITS}/1", TWO),
    RegistryCall(COMPATIBLE, "POST", "/compatibility/subjects/none/versions/latest", ONE),
    RegistryCall(VERBOSE, "POST", f"{FITS}/latest?verbose=true", UNFIT),
    RegistryCall(MISSING, "POST", f"{FITS}/9", ONE),
    RegistryCall(OWN, "GET", "/config/s"),
    RegistryCall(OWN, "GET", "/mode/s"),
    RegistryCall(CONFIG, "GET", "/config/s?defaultToGlobal=true"),
    RegistryCall(CONFIG, "PUT", "/config/s", {"compatibility": "NONE"}),
    RegistryCall(CONFIG, "GET", "/config/s"),
    RegistryCall(REGISTER, "POST", VERSIONS, UNFIT),
    RegistryCall(CONFIG, "DELETE", "/config/s"),
    RegistryCall(MODES, "PUT", "/mode", {"mode": "SOMEHOW"}),
    RegistryCall(READ_ONLY, "PUT", "/mode", {"mode": "READONLY"}),
    RegistryCall(READ_ONLY, "POST", "/subjects/more/versions", ONE),
    RegistryCall(READ_ONLY, "PUT", "/mode", {"mode": "READWRITE"}),
    RegistryCall(REFERENCES, "POST", "/subjects/basket/versions", BASKET),
    RegistryCall(REFERENCES, "GET", f"{VERSIONS}/1/referencedby"),
    RegistryCall(REFERENCES, "GET", "/subjects/basket/versions/1"),
    RegistryCall(REFERENCES, "DELETE", f"{VERSIONS}/1"),
    RegistryCall(TWICE, "DELETE", f"{VERSIONS}/2?permanent=true"),
    RegistryCall(DELETING, "DELETE", f"{VERSIONS}/2"),
    RegistryCall(TWICE, "DELETE", f"{VERSIONS}/2"),
    RegistryCall(DELETING, "DELETE", f"{VERSIONS}/2?permanent=true"),
    RegistryCall(LISTS, "GET", VERSIONS),
    RegistryCall(DELETING, "DELETE", "/subjects/other"),
    RegistryCall(TWICE, "DELETE", "/subjects/other"),
    RegistryCall(LISTS, "GET", "/subjects"),
    RegistryCall(LISTS, "GET", "/subjects?deleted=true"),
    RegistryCall(DELETING, "DELETE", "/subjects/other?permanent=true"),
    RegistryCall(MISSING, "DELETE", "/subjects/none"),
)
