"""Every refusal has a code of its own, and the status that the code begins with."""

from coordinators.schemas import errors
from coordinators.schemas.errors import RegistryError


def test_codes_are_those_of_the_api_and_each_is_one_refusal() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, RegistryError)]
    codes = {kind.code: kind for kind in kinds if kind is not RegistryError}
    assert len(codes) == len(kinds) - 1
    expected = {409, *range(40401, 40410), *range(42201, 42210)}
    assert codes.keys() == expected
    assert {RegistryError("x", code).status for code in codes} == {404, 409, 422}
