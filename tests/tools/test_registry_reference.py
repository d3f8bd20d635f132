"""The lists of what others answer and judge otherwise, the page that shows them, and when the command fails."""

from pathlib import Path
from random import Random

import pytest

from coordinators.schemas.formats.protobuf.schema import FORMAT
from tools.registry_reference.__main__ import PARTS, reasons, verdict
from tools.registry_reference.apicurio import differing
from tools.registry_reference.avro import judged_here
from tools.registry_reference.avro_pairs import AvroPairs
from tools.registry_reference.calls import CALLS
from tools.registry_reference.protobuf_pairs import ProtobufPairs

PAGE = Path(__file__).resolve().parents[2] / "docs" / "schemas.md"


@pytest.mark.parametrize("part", PARTS)
def test_the_page_has_every_reason(part: str) -> None:
    page = PAGE.read_text(encoding="utf-8")
    for topic, each in reasons(part).items():
        shown = f"`{topic}`" if part == "buf" else topic
        assert f"| {shown} | {each['here']} | {each['there']} |" in page


def test_every_reason_is_of_a_call_that_is_made() -> None:
    assert reasons("apicurio").keys() <= {call.topic for call in CALLS}


def test_answers_that_differ_are_told_by_topic() -> None:
    same = [(200, None)] * len(CALLS)
    assert differing(same, same) == {}
    other = [(404, 40401), *same[1:]]
    assert list(differing(same, other)) == [CALLS[0].topic]


def test_it_fails_for_a_difference_without_a_reason_and_for_a_reason_without_a_difference(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert verdict(9, {"known": ["one"]}, {"known"}, shows_all=False) == 0
    assert verdict(9, {"known": ["one"], "new": ["two"]}, {"known"}, shows_all=False) == 1
    assert verdict(9, {}, {"known"}, shows_all=False) == 1
    told = capsys.readouterr().out
    assert "new:\n  two" in told
    assert "no difference any more: known" in told


def test_pairs_of_protobuf_are_schemas_and_of_both_verdicts() -> None:
    pairs = [(older.text(), newer.text()) for older, newer in ProtobufPairs(Random(1)).pairs(200)]
    fits = [not FORMAT.parse(newer).incompatibilities(FORMAT.parse(older)) for older, newer in pairs]
    assert 40 < sum(fits) < 160


def test_pairs_of_avro_are_of_all_verdicts() -> None:
    found = [judged_here(*pair)[0] for pair in AvroPairs(Random(1)).pairs(500)]
    for word in ("COMPATIBLE", "INCOMPATIBLE", "INVALID"):
        assert found.count(word) > 50, word
