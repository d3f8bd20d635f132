"""A JSON Schema and those it refers to: what a `$ref` in any of them means.

Nothing is ever fetched: a reference leads into the schema itself, to another by the name under which that was
registered as a reference, or to what one of them calls itself (`$id`). Every part of a schema is indexed once, with the
address that its references are relative to.
"""

from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin

from attrs import define, field

from coordinators.schemas.formats.format import InvalidSchema, ResolvedReference, in_order
from coordinators.schemas.formats.json_schema.shape import Node, schemas_in
from coordinators.schemas.formats.json_text import read_json

REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
"""Those that mean something else in other surroundings are followed as if they did not."""
MOST_STEPS = 100
"""Of references that lead to references."""

LONGEST_INDEX = 10
"""Digits of a position in a list."""


@define(eq=False)
class JsonDocuments:
    """See the module. Made by `read`."""

    root: Node
    draft: str
    resources: dict[str, Node] = field(factory=dict)
    """Whole documents by the addresses under which they are referred to."""
    _addresses: dict[str, Node] = field(factory=dict)
    """Whatever has an address of its own, anchors as `address#name`."""
    _bases: dict[int, str] = field(factory=dict)
    """By the identity of an object, what its references are relative to."""

    @classmethod
    def read(cls, text: str, references: Sequence[ResolvedReference], drafts: dict[str, str]) -> "JsonDocuments":
        """Read the text and all that it refers to; `drafts` names what `$schema` can say."""
        root = _checked(read_json(text))
        documents = cls(root, _draft(root, drafts))
        ordered = in_order(references)
        nodes = {each.name: _checked(read_json(each.text)) for each in ordered}
        documents._lend({_own_address(root)}, references, nodes)
        for each in reversed(ordered):
            documents._lend(documents._addresses_of(nodes[each.name]), each.references, nodes)
        documents._index(root, _own_address(root))
        for name, node in nodes.items():
            documents.resources.setdefault(name, node)
            documents._index(node, _own_address(node) or name)
        for name, node in documents.resources.items():
            documents._addresses.setdefault(name, node)
        documents._check()
        return documents

    def target(self, node: dict[str, Any], keyword: str = "$ref") -> Node:
        """What the reference of this part of a schema leads to; raises `InvalidSchema`."""
        reference = node[keyword]
        address, fragment = urldefrag(urljoin(self._bases.get(id(node), ""), reference))
        if not fragment.startswith("/") and fragment:
            found = self._addresses.get(f"{address}#{fragment}")
        else:
            found = self._below(self._addresses.get(address), fragment)
        if found is None:
            raise InvalidSchema(f"the reference {reference!r} leads nowhere")
        return found

    def _below(self, node: Any, fragment: str) -> Node | None:
        for part in fragment.split("/")[1:]:
            key = unquote(part).replace("~1", "/").replace("~0", "~")
            if isinstance(node, list):
                node = node[int(key)] if key.isdecimal() and len(key) < LONGEST_INDEX and int(key) < len(node) else None
            else:
                node = node.get(key) if isinstance(node, dict) else None
        return node if isinstance(node, dict | bool) else None

    def _lend(self, users: set[str], references: Sequence[ResolvedReference], nodes: dict[str, Node]) -> None:
        """Names are relative to what the schema that uses them is called."""
        for own in users:
            for each in references:
                self.resources.setdefault(urldefrag(urljoin(own, each.name))[0], nodes[each.name])

    def _addresses_of(self, node: Node) -> set[str]:
        if own := _own_address(node):
            return {own}
        return {"", *(address for address, known in self.resources.items() if known is node)}

    def _index(self, node: Node, address: str) -> None:
        self._addresses.setdefault(address, node)
        for part, base in everything_in(node, address):
            own = _own_address(part)
            self._bases[id(part)] = base
            if own:
                self._addresses.setdefault(urldefrag(base)[0], part)
            for key in ("$anchor", "$dynamicAnchor"):
                if isinstance(part.get(key), str):
                    self._addresses.setdefault(f"{urldefrag(base)[0]}#{part[key]}", part)
            name = part.get("$id", part.get("id"))
            if isinstance(name, str) and name.startswith("#") and len(name) > 1:
                # Until draft 7 this was how to give a part a name.
                self._addresses.setdefault(f"{urldefrag(base)[0]}{name}", part)

    def _check(self) -> None:
        waiting = [self.root, *self.resources.values()]
        while waiting:
            for part, _ in everything_in(waiting.pop(), ""):
                for keyword in REFERENCES:
                    if keyword in part:
                        target = self.target(part, keyword)
                        if isinstance(target, dict) and id(target) not in self._bases:
                            # It lies where no schema is looked for, as below `components`.
                            self._index(target, "")
                            waiting.append(target)
                self._follow(part)

    def _follow(self, node: Node) -> None:
        for _ in range(MOST_STEPS):
            if not isinstance(node, dict) or "$ref" not in node:
                return
            node = self.target(node)
        raise InvalidSchema(f"the reference {node!s:.80} leads in a circle, or through too many others")


def everything_in(node: Node, address: str) -> Iterator[tuple[dict[str, Any], str]]:
    """Every schema in a document that is an object, with the address that its references are relative to."""
    waiting: list[tuple[Node, str]] = [(node, address)]
    while waiting:
        current, base = waiting.pop()
        if isinstance(current, dict):
            own = _own_address(current)
            base = urljoin(base, own) if own else base
            yield current, base
            waiting.extend((part, base) for part in schemas_in(current))


def _own_address(node: Any) -> str:
    if isinstance(node, dict):
        for key in ("$id", "id"):
            name = node.get(key)
            if isinstance(name, str) and not name.startswith("#"):
                return urldefrag(name)[0]
    return ""


def _checked(value: Any) -> Node:
    if not isinstance(value, dict | bool):
        raise InvalidSchema("a JSON Schema is an object or a boolean")
    return value


def _draft(root: Node, drafts: dict[str, str]) -> str:
    said = root.get("$schema", "") if isinstance(root, dict) else ""
    if not isinstance(said, str) or said.rstrip("#") not in drafts:
        raise InvalidSchema(f"the draft {said!r} is not known: one of {', '.join(sorted(filter(None, drafts)))}")
    return drafts[said.rstrip("#")]
