"""A function is given the services that it names by their types, once; what is missing is told at once."""

import pytest

from wire.kafka.apis import registered
from wire.services import MissingService, Services


class Counting:
    """A service."""

    def __init__(self, count: int) -> None:
        self.count = count


class Naming:
    """Another."""


def handle(request: int, context: str, counting: Counting, naming: Naming) -> tuple[int, str, int, Naming]:
    return request, context, counting.count, naming


async def handle_later(request: int, context: str, counting: Counting) -> int:
    return request + counting.count


def handle_alone(request: int, context: str) -> tuple[int, str]:
    return request, context


def test_a_handler_is_given_what_it_names() -> None:
    naming = Naming()
    services = Services({Counting: Counting(3), Naming: naming})
    assert services.bound(handle, 2)(1, "a") == (1, "a", 3, naming)
    assert services.bound(handle_alone, 2)(1, "a") == (1, "a")


def test_two_doors_give_one_handler_their_own_services() -> None:
    first, second = (Services({Counting: Counting(count)}).bound(handle_later, 2) for count in (10, 20))
    results = []
    for bound in (first, second):
        with pytest.raises(StopIteration) as stopped:
            bound(1, "a").send(None)
        results.append(stopped.value.value)
    assert results == [11, 21]


def test_a_missing_service_is_named_with_the_handler_that_wants_it() -> None:
    services = Services({Counting: Counting(3)})
    with pytest.raises(MissingService, match=r"test_services\.handle\(counting, naming\).*type Naming"):
        services.bound(handle, 2)
    assert services.extended({Naming: Naming()}).bound(handle, 2)(1, "a")[2] == 3


def test_a_door_without_services_cannot_be_made() -> None:
    with pytest.raises(MissingService, match=r"wire\.kafka\.apis\.heartbeat\.handle\(groups\).*Groups"):
        registered()[12].bound(Services({}))
