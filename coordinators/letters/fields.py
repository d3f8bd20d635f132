"""What the headers of a dead letter say, whoever wrote them: where it came from, what went wrong, who gave up.

Known are the headers of KIP-1191 (`__dlq.errors.*`: Tidegate, and Kafka's share groups), of Kafka Connect
(`__connect.errors.*`) and of Spring (`kafka_dlt-*`), whose numbers are big-endian bytes.
"""

TEXT, NUMBER32, NUMBER64 = "text", "int", "long"

# field -> the headers that may hold it, with how they write it; the first that is there counts.
FIELDS: dict[str, tuple[tuple[str, str], ...]] = {
    "origin_topic": (
        ("__dlq.errors.topic", TEXT),
        ("__connect.errors.topic", TEXT),
        ("kafka_dlt-original-topic", TEXT),
    ),
    "origin_partition": (
        ("__dlq.errors.partition", TEXT),
        ("__connect.errors.partition", TEXT),
        ("kafka_dlt-original-partition", NUMBER32),
    ),
    "origin_offset": (
        ("__dlq.errors.offset", TEXT),
        ("__connect.errors.offset", TEXT),
        ("kafka_dlt-original-offset", NUMBER64),
    ),
    "consumer": (
        ("__dlq.errors.group", TEXT),
        ("__connect.errors.connector.name", TEXT),
        ("kafka_dlt-original-consumer-group", TEXT),
    ),
    "error": (
        ("__dlq.errors.message", TEXT),
        ("__connect.errors.exception.class.name", TEXT),
        ("kafka_dlt-exception-cause-fqcn", TEXT),
        ("kafka_dlt-exception-fqcn", TEXT),
    ),
    "message": (
        ("__dlq.errors.message", TEXT),
        ("__connect.errors.exception.message", TEXT),
        ("kafka_dlt-exception-message", TEXT),
    ),
}
STYLES = (("__dlq.errors.", "broker"), ("__connect.errors.", "connect"), ("kafka_dlt-", "spring"))
