"""A topic's JSON schema grows and never changes what it has said."""

from typing import Any

from tools.pipelines.archive.schemas import grown


def struct(**fields: Any) -> dict[str, Any]:
    return {
        "type": "struct",
        "fields": [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in fields.items()],
    }


def array(kind: Any) -> dict[str, Any]:
    return {"type": "array", "elementType": kind, "containsNull": True}


def test_the_first_schema_is_taken_as_it_is() -> None:
    assert grown(None, struct(a="long")) == struct(a="long")


def test_new_fields_are_added_also_inside() -> None:
    known = struct(a="long", item=struct(name="string"), list=array(struct(x="long")))
    seen = struct(b="string", item=struct(price="double"), list=array(struct(y="long")))
    assert grown(known, seen) == struct(
        a="long",
        item=struct(name="string", price="double"),
        list=array(struct(x="long", y="long")),
        b="string",
    )


def test_a_type_stays() -> None:
    assert grown(struct(a="long", b=struct(c="long")), struct(a="string", b="string")) == struct(
        a="long", b=struct(c="long")
    )
