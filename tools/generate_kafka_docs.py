"""Writes docs/reference/kafka.md from the files of the APIs: `python -m tools.generate_kafka_docs`."""

import re
from importlib import import_module
from pathlib import Path

from attrs import frozen

from tools.doc_tables import table
from tools.generate_rights_docs import asked_for
from wire.kafka.apis import Api, registered

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "reference" / "kafka.md"

_INTRODUCTION = """\
# Kafka APIs

Written by `python -m tools.generate_kafka_docs` from the files of the APIs (`wire/kafka/apis/`): what the broker
tells clients by ApiVersions is made of the same declarations. Where Tidegate differs from Apache Kafka on purpose is
told under [compatibility](../compatibility.md), what errors mean under [errors](errors.md).

Produce is advertised from version 0, because old versions of librdkafka switch compression off otherwise; requests
below version 3 end the connection, as with Kafka 4.
"""
_OF_NODES = """
## Between nodes

Nodes of a cluster also send each other these. Clients are not told of them, and are refused.
"""
_HEAD = re.compile(r"(?P<name>\w+) \(\d+\), versions? (?P<versions>[\d-]+)[^:]*: ")


@frozen
class Described:
    """What the file of an API says of it."""

    api: Api
    name: str
    does: str
    notes: str

    @classmethod
    def of(cls, api: Api) -> "Described":
        """The first paragraph says what it does, the others are notes."""
        text = import_module(f"wire.kafka.apis.{api.name}").__doc__ or ""
        head = _HEAD.match(text)
        assert head is not None, f"{api.name} does not begin with its name, key and versions"
        assert head["versions"] == _span(api.first_version, api.last_version), f"{api.name} tells other versions"
        does, _, notes = text[head.end() :].strip().partition("\n\n")
        return cls(api, head["name"], does[0].upper() + does[1:], notes)

    @property
    def served(self) -> str:
        """The versions that clients are told of."""
        return _span(self.api.first_version, self.api.last_advertised_version)

    @property
    def link(self) -> str:
        """To its own part of the page."""
        return f"[{self.name}](#{self.name.lower()})"

    def part(self) -> list[str]:
        """Its own part of the page."""
        lines = [f"\n### {self.name}\n", f"Key {self.api.key}, {_versions(self.served)}. {_unwrapped(self.does)}"]
        lines += [f"\n{_unwrapped(paragraph)}" for paragraph in self.notes.split("\n\n") if paragraph]
        return [*lines, f"\nRights: {asked_for(self.api)}."] if self.api.advertised else lines


def document() -> str:
    """The whole page."""
    described = [Described.of(api) for _, api in sorted(registered().items())]
    for_clients = [each for each in described if each.api.advertised]
    between_nodes = [each for each in described if not each.api.advertised]
    rows = ((str(each.api.key), each.link, each.served, _first_sentence(each.does)) for each in for_clients)
    lines = [_INTRODUCTION, *table(("key", "API", "versions", "what it does"), rows)]
    lines += ["\n## For clients", *(line for each in for_clients for line in each.part())]
    lines += [_OF_NODES.rstrip(), *(line for each in between_nodes for line in each.part())]
    return "\n".join([*lines, ""])


def _span(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"


def _versions(span: str) -> str:
    return f"versions {span}" if "-" in span else f"version {span}"


def _unwrapped(text: str) -> str:
    return " ".join(text.split())


def _first_sentence(text: str) -> str:
    return _unwrapped(re.split(r"(?<=[a-z)])\.\s", text)[0]).removesuffix(".")


if __name__ == "__main__":
    DOCUMENT.write_text(document(), encoding="utf-8")
