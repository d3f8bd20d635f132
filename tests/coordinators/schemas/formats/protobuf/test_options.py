"""Options: known ones are set, others kept as they were written."""

import pytest

from coordinators.schemas.formats.format import InvalidSchema
from coordinators.schemas.formats.protobuf.parsing import parse_file
from coordinators.schemas.formats.protobuf.printing import printed

HEAD = 'syntax = "proto3";\n'


def test_known_options_are_set() -> None:
    file = parse_file(
        f'{HEAD} option java_package = "x"; option optimize_for = CODE_SIZE; option deprecated = true;', "f"
    )
    assert (file.options.java_package, file.options.deprecated) == ("x", True)
    assert file.options.optimize_for == file.options.CODE_SIZE


@pytest.mark.parametrize(
    "option",
    ['(a.b).c = "x"', "(a) = -3", "(a) = WORD", '(a) = { b : "}" c { d : 1 } }', "features.own = YES"],
)
def test_others_are_kept(option: str) -> None:
    assert f"option {option};" in printed(parse_file(f"{HEAD} option {option};", "f"), normalized=False)


@pytest.mark.parametrize(
    "option", ["deprecated = 1", "optimize_for = NOTHING", "java_package = ", "= 1", "(a) = { b: 1"]
)
def test_what_cannot_be_is_refused(option: str) -> None:
    with pytest.raises(InvalidSchema):
        parse_file(f"{HEAD} option {option};", "f")
