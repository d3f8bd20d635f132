"""Reading a scrape in tests."""

from collections.abc import Iterable, Mapping

from prometheus_client.parser import text_string_to_metric_families

from engine.metrics import Family
from tests.wire.http.door import HttpDoor


class Scrape:
    """Samples by name and labels."""

    def __init__(self, values: Iterable[tuple[str, Mapping[str, str], float]]) -> None:
        self._values = {(name, frozenset(labels.items())): value for name, labels, value in values}

    def __call__(self, name: str, **labels: str) -> float:
        return self._values[name, frozenset(labels.items())]

    def has(self, name: str, **labels: str) -> bool:
        return (name, frozenset(labels.items())) in self._values

    def names(self) -> set[str]:
        return {name for name, _ in self._values}

    def labels(self, name: str, label: str) -> set[str]:
        """The values of one label."""
        return {dict(labels)[label] for each, labels in self._values if each == name}


def collected(families: Iterable[Family | None]) -> Scrape:
    """What a collector gives."""
    return Scrape(
        (family.name + sample.suffix, sample.labels, sample.value)
        for family in families
        if family is not None
        for sample in family.samples
    )


async def scrape(door: HttpDoor) -> Scrape:
    """What `/metrics` says now."""
    text = (await door.ask("GET", "/metrics")).body.decode()
    return Scrape(
        (sample.name, sample.labels, sample.value)
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    )
