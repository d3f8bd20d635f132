"""Pairs of Avro schemas, a reader and a writer, which have much in common: few names, and changes as people make."""

from collections.abc import Callable, Iterator
from copy import deepcopy
from random import Random
from typing import Any

from attrs import define, field

Json = Any
PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
NAMES = ("A", "B", "C", "D", "x.A", "y.z.B")
FIELDS = ("a", "b", "c", "d")
SYMBOLS = ("P", "Q", "R", "S")
DEFAULTS: dict[str, tuple[Any, ...]] = {
    "null": (None,),
    "boolean": (True, False),
    "int": (1, -1),
    "long": (1, 2**40),
    "float": (0.5, 1),
    "double": (0.5, 1),
    "bytes": ("", "ÿ"),
    "string": ("", "x"),
}


@define(eq=False)
class AvroPairs:
    """See the module."""

    random: Random
    _defined: list[str] = field(factory=list)

    def pairs(self, count: int) -> Iterator[tuple[Json, Json]]:
        """So many. A few are no schemas: those have to be refused by both."""
        for _ in range(count):
            writer = self._fresh(3)
            reader = deepcopy(writer)
            for _ in range(self.random.choice((0, 1, 1, 2, 3))):
                reader = self._changed(reader)
            yield reader, (self._fresh(3) if self.random.random() < 0.1 else writer)

    # -- schemas

    def _fresh(self, depth: int) -> Json:
        self._defined.clear()
        return self._schema(depth)

    def _schema(self, depth: int) -> Json:
        makers: list[Callable[[int], Json]] = [self._record, self._record, self._enum, self._fixed, self._array]
        makers += [self._map, self._union, self._primitive, self._primitive, self._known]
        return self.random.choice(makers if depth else [self._primitive, self._enum, self._fixed, self._known])(depth)

    def _primitive(self, depth: int) -> Json:  # noqa: ARG002
        name = self.random.choice(PRIMITIVES)
        return {"type": name, "custom": True} if self.random.random() < 0.05 else name

    def _known(self, depth: int) -> Json:
        return self.random.choice(self._defined) if self._defined else self._primitive(depth)

    def _named(self, kind: str) -> dict[str, Any]:
        free = [name for name in NAMES if name not in self._defined] or list(NAMES)
        made: dict[str, Any] = {"type": kind, "name": self.random.choice(free)}
        self._defined.append(made["name"])
        if self.random.random() < 0.1:
            made["aliases"] = self.random.sample(NAMES, self.random.choice((1, 2)))
        if self.random.random() < 0.1 and "." not in made["name"]:
            made["namespace"] = self.random.choice(("x", "y.z"))
            self._defined[-1] = f"{made['namespace']}.{made['name']}"
        return made

    def _record(self, depth: int) -> Json:
        made = self._named("record")
        names = self.random.sample(FIELDS, self.random.randrange(4))
        made["fields"] = [self._field(name, depth - 1) for name in names]
        return made

    def _field(self, name: str, depth: int) -> Json:
        made: dict[str, Any] = {"name": name, "type": self._schema(max(depth, 0))}
        if self.random.random() < 0.4:
            made |= self._default(made["type"])
        if self.random.random() < 0.1:
            made["aliases"] = [self.random.choice(FIELDS)]
        return made

    def _default(self, schema: Json) -> dict[str, Any]:
        if isinstance(schema, list):
            return self._default(self.random.choice(schema)) if schema else {}
        kind = schema if isinstance(schema, str) else schema["type"]
        if kind in DEFAULTS:
            return {"default": self.random.choice(DEFAULTS[kind])}
        if kind == "array":
            return {"default": []}
        if kind in ("map", "record"):
            return {"default": {}}
        return {"default": schema["symbols"][0]} if kind == "enum" else {}

    def _enum(self, depth: int) -> Json:  # noqa: ARG002
        made = self._named("enum")
        made["symbols"] = self.random.sample(SYMBOLS, self.random.randrange(1, 5))
        if self.random.random() < 0.3:
            made["default"] = self.random.choice(SYMBOLS)
        return made

    def _fixed(self, depth: int) -> Json:  # noqa: ARG002
        return {**self._named("fixed"), "size": self.random.choice((1, 2, 4))}

    def _array(self, depth: int) -> Json:
        return {"type": "array", "items": self._schema(depth - 1)}

    def _map(self, depth: int) -> Json:
        return {"type": "map", "values": self._schema(depth - 1)}

    def _union(self, depth: int) -> Json:
        branches = [self._schema(depth - 1) for _ in range(self.random.randrange(4))]
        return [each for each in branches if not isinstance(each, list)]

    # -- changes

    def _changed(self, schema: Json) -> Json:
        """One of the types in it, or what is written about it, is another."""
        root = {"": schema}
        places: list[tuple[Any, Any]] = []
        _collect(root, "", places)
        self._change(*self.random.choice(places))
        return root[""]

    def _change(self, holder: Any, key: Any) -> None:
        random, found = self.random, holder[key]
        if isinstance(found, list) and random.random() < 0.7:
            if found and random.random() < 0.5:
                found.pop(random.randrange(len(found)))
            else:
                found.insert(random.randrange(len(found) + 1), random.choice(PRIMITIVES))
        elif isinstance(found, dict) and random.random() < 0.8:
            self._change_described(found)
        elif random.random() < 0.3 and not isinstance(found, list):
            holder[key] = random.choice((["null", found], [found, "null"], [found]))
        else:
            holder[key] = random.choice(PRIMITIVES)

    def _change_described(self, found: dict[str, Any]) -> None:
        random = self.random
        if "fields" in found and random.random() < 0.7:
            self._change_fields(found["fields"])
        elif "symbols" in found and random.random() < 0.7:
            found["symbols"] = random.sample(SYMBOLS, random.randrange(1, 5))
            found.pop("default", None)
            if random.random() < 0.5:
                found["default"] = random.choice(found["symbols"])
        elif "size" in found and random.random() < 0.5:
            found["size"] = random.choice((1, 2, 4))
        elif "name" in found:
            if random.random() < 0.5:
                found["aliases"] = [found["name"]]
            found["name"] = random.choice(NAMES)

    def _change_fields(self, fields: list[Any]) -> None:
        random = self.random
        unused = [name for name in FIELDS if name not in {each["name"] for each in fields}]
        change = random.randrange(5)
        if change == 0 and unused:
            name, kind = random.choice(unused), random.choice(PRIMITIVES)
            made = {"name": name, "type": kind}
            fields.append(made | self._default(kind) if random.random() < 0.6 else made)
        elif change == 1 and fields:
            fields.pop(random.randrange(len(fields)))
        elif change == 2 and fields and unused:
            each = random.choice(fields)
            each.update({"aliases": [each["name"]]} if random.random() < 0.6 else {}, name=random.choice(unused))
        elif change == 3:
            # What is defined in one of them may be named by another.
            random.shuffle(fields)
        elif fields:
            each = random.choice(fields)
            if each.pop("default", None) is None:
                each.update(self._default(random.choice(PRIMITIVES)))


def _collect(holder: Any, key: Any, places: list[tuple[Any, Any]]) -> None:
    """Everywhere that a type stands."""
    places.append((holder, key))
    found = holder[key]
    if isinstance(found, list):
        for number in range(len(found)):
            _collect(found, number, places)
    elif isinstance(found, dict):
        for name in ("items", "values"):
            if name in found:
                _collect(found, name, places)
        for each in found.get("fields", ()):
            _collect(each, "type", places)
