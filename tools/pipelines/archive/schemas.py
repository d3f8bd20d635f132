"""JSON values as a column: a schema per topic that only grows, kept with the archive.

The first type that a field is seen with stays its type, for files that were written with it remain. A value that does
not fit is null in the column; the record's bytes are always kept whole beside it.
"""

import json
from typing import Any

from tools.pipelines.storage import Storage

SCHEMAS = "_schemas"


def grown(known: dict[str, Any] | None, seen: dict[str, Any]) -> dict[str, Any]:
    """A schema (Spark's own JSON form) with the fields of another added at their places."""
    if known is None:
        return seen
    fields = {field["name"]: field for field in known["fields"]}
    for field in seen["fields"]:
        name = field["name"]
        fields[name] = {**field, "type": grown_type(fields[name]["type"], field["type"])} if name in fields else field
    return {"type": "struct", "fields": list(fields.values())}


def grown_type(known: Any, seen: Any) -> Any:
    """A type with what another has more inside it; one of another kind changes nothing."""
    if not isinstance(known, dict) or not isinstance(seen, dict) or known["type"] != seen["type"]:
        return known
    if known["type"] == "struct":
        return grown(known, seen)
    if known["type"] == "array":
        return {**known, "elementType": grown_type(known["elementType"], seen["elementType"])}
    if known["type"] == "map":
        return {**known, "valueType": grown_type(known["valueType"], seen["valueType"])}
    return known


class Schemas:
    """The schemas of an archive's topics."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._known: dict[str, dict[str, Any]] = {}

    def learn(self, spark: Any, topic: str, values: Any) -> Any:
        """The topic's schema after a look at these values (a frame of one text column); None if none is an object."""
        known = self._load(topic)
        inferred = _inferred(spark, values)
        schema = grown(known, inferred) if inferred["fields"] else known
        if schema is not None and schema != known:
            self._storage.write(self._name(topic), json.dumps(schema, indent=1) + "\n")
            self._known[topic] = schema
        return schema

    def _load(self, topic: str) -> dict[str, Any] | None:
        if topic not in self._known and self._storage.exists(self._name(topic)):
            self._known[topic] = json.loads(self._storage.read(self._name(topic)))
        return self._known.get(topic)

    def _name(self, topic: str) -> str:
        return f"{SCHEMAS}/{topic}.json"


def _inferred(spark: Any, values: Any) -> dict[str, Any]:
    """The schema of texts, by Spark's own inference. In the JVM, for PySpark would send every text through Python."""
    texts = getattr(values._jdf, "as")(spark._jvm.org.apache.spark.sql.Encoders.STRING())
    found = spark._jsparkSession.read().option("mode", "DROPMALFORMED").json(texts).schema().json()
    return dict(json.loads(found))


def with_json(spark: Any, records: Any, topic: str, schemas: Schemas) -> Any:
    """The records with a column `json` beside their value, where any value is a JSON object."""
    from pyspark.sql import functions
    from pyspark.sql.types import StructType

    text = functions.col("value").cast("string")
    # Whatever is no object would be inferred as a column of broken records.
    objects = records.where(functions.get_json_object(text, "$").startswith("{")).select(text)
    schema = schemas.learn(spark, topic, objects)
    if schema is None:
        return records
    return records.withColumn("json", functions.from_json(text, StructType.fromJson(schema)))
