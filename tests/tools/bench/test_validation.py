"""The command that measures validation has loads that pass it, and compares each with none."""

import math

from coordinators.schemas import formats
from tools.bench.validation import LEVELS, SCHEMAS, cases, payloads, table


def test_every_kind_is_tried_with_every_codec_and_level() -> None:
    assert len(cases()) == 2 * 2 * len(LEVELS)
    assert cases("avro-lz4") == [("avro", "lz4", level) for level in LEVELS]


def test_payloads_fit_their_schemas_and_are_of_a_kilobyte() -> None:
    for kind, content in SCHEMAS.items():
        check = formats.by_name(content.type).parse(content.text, ()).validator()
        for payload in payloads(kind):
            check(payload)
            assert 900 < len(payload) < 1_200


def test_costs_are_told_as_multiples_of_the_same_without() -> None:
    found = table({"json-plain-none": 10.0, "json-plain-id": 12.0, "avro-lz4-full": 5.0})
    assert found["json-plain-id"] == {"cost": 12.0, "times": 1.2}
    assert math.isnan(found["avro-lz4-full"]["times"])
