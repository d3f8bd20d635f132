"""The column `data`: values that were written by schemas of a registry, with a type per topic that only grows.

The archive keeps every schema that its records name (`_schemas/ids/7.json`), so that it can be read, made compact and
written back without the registry that it came from.
"""

import json
from typing import Any

from tools.pipelines.archive.schemas import SCHEMAS, grown_type
from tools.pipelines.options import PipelineError
from tools.pipelines.storage import Storage
from tools.pipelines.typed.decoding import Decoding, understood
from tools.pipelines.typed.framing import FRAMING_SQL, HEADER_SQL, framing_named, framing_of, name_of
from tools.pipelines.typed.registry import Registry, Told
from tools.pipelines.typed.types import ColumnType

MOST_SCHEMAS = 1_000
"""Of one topic in one commit. Values that only look as if they named schemas name many."""


class KnownSchemas:
    """Schemas and column types of an archive."""

    def __init__(self, storage: Storage, registry: Registry | None = None) -> None:
        self._storage = storage
        self._registry = registry

    def told(self, framings: list[bytes]) -> dict[bytes, Told]:
        """The schemas of these framings, kept here or asked for; those that nobody knows are left out."""
        found = {framing: self._schema(name_of(framing)) for framing in framings}
        return {framing: told for framing, told in found.items() if told is not None}

    def column(self, topic: str, seen: list[ColumnType]) -> ColumnType | None:
        """The type of a topic's column after a look at these; None if there never was one."""
        name = f"{SCHEMAS}/data/{topic}.json"
        known = json.loads(self._storage.read(name)) if self._storage.exists(name) else None
        column = known
        for each in seen:
            column = each if column is None else grown_type(column, each)
        if column != known:
            self._storage.write(name, json.dumps(column, indent=1) + "\n")
        return column

    def moved(self, registry: Registry, topic: str, subject: str) -> dict[bytes, bytes]:
        """Have a topic's schemas registered under a subject elsewhere: what its records named them, and shall.

        In the order of their ids, since a version is held to those before it.
        """
        framings: dict[bytes, bytes] = {}
        used = self._used(topic)
        for name in sorted(used, key=lambda each: each.partition("/")[2].zfill(40)):
            told = self._schema(name)
            if told is None:
                continue
            answer = registry.register(subject, told)
            there = f"ids/{answer['id']}" if name.startswith("ids/") else f"guids/{answer.get('guid', name[6:])}"
            framings[framing_named(name)] = framing_named(there)
        return framings

    def note_used(self, topic: str, names: list[str]) -> None:
        """Remember which schemas a topic's records name."""
        before = self._used(topic)
        used = sorted({*before, *names})
        if used != before:
            self._storage.write(f"{SCHEMAS}/used/{topic}.json", json.dumps(used) + "\n")

    def _used(self, topic: str) -> list[str]:
        name = f"{SCHEMAS}/used/{topic}.json"
        return list(json.loads(self._storage.read(name))) if self._storage.exists(name) else []

    def _schema(self, name: str) -> Told | None:
        kept = f"{SCHEMAS}/{name}.json"
        if self._storage.exists(kept):
            return dict(json.loads(self._storage.read(kept)))
        told = self._registry.schema(name) if self._registry is not None else None
        if told is not None:
            _check(name, told)
            self._storage.write(kept, json.dumps(told, indent=1) + "\n")
        return told


def _check(name: str, told: Told) -> None:
    try:
        understood(told)
    except ImportError as error:
        raise PipelineError(f"--schemas needs packages that are not here: {error}") from None
    except Exception as error:
        raise PipelineError(f"the schema {name} of the registry cannot be understood here: {error}") from None


def with_data(records: Any, topic: str, schemas: KnownSchemas) -> Any:
    """The records with a column `data` beside their value, where any value names a schema that there is."""
    from pyspark.sql import functions
    from pyspark.sql.types import _parse_datatype_json_value

    named = records.selectExpr(f"{FRAMING_SQL} AS framing").where("framing IS NOT NULL").distinct()
    framings = sorted(bytes(row.framing) for row in named.limit(MOST_SCHEMAS + 1).collect())
    if len(framings) > MOST_SCHEMAS:
        raise PipelineError(f"{topic} names more than {MOST_SCHEMAS} schemas: its values are hardly written by any")
    told = schemas.told(framings)
    schemas.note_used(topic, [name_of(framing) for framing in told])
    decoding = Decoding(told)
    column = schemas.column(topic, _seen(records, told, decoding))
    if column is None:
        return records
    decode = functions.udf(
        lambda value, header: decoding.value(value, header, column), _parse_datatype_json_value(column)
    )
    return records.withColumn("data", decode("value", functions.expr(HEADER_SQL)))


def _seen(records: Any, told: dict[bytes, Told], decoding: Decoding) -> list[ColumnType]:
    """What the schemas ask for, those with lower ids first. Of Protobuf's, the messages that there are."""
    from pyspark.sql import functions

    beginnings = [framing for framing in told if told[framing]["schemaType"] != "PROTOBUF"]
    if len(beginnings) < len(told):
        numbers = functions.udf(decoding.numbers, "binary")
        valued = records.where("value IS NOT NULL")
        named = valued.select(numbers("value", functions.expr(HEADER_SQL)).alias("numbers")).distinct()
        beginnings += [bytes(row.numbers) for row in named.where("numbers IS NOT NULL").limit(MOST_SCHEMAS).collect()]
    pairs = [(framing_of(each), each) for each in sorted(beginnings)]
    found = [decoding.column(framing, beginning[len(framing) :]) for framing, beginning in pairs]
    return [column for column in found if column is not None]
