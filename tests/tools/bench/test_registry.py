"""The command that measures the registry asks a real one, and tells of each kind of request."""

from tools.bench.registry import schema, tidegate


def test_every_subject_has_a_schema_of_its_own_of_some_300_bytes() -> None:
    assert schema(1) != schema(2)
    assert 250 < len(schema(7)) < 400


def test_a_broker_is_measured() -> None:
    found = tidegate(5)
    assert found["register"]["per_s"] > 0
    assert found["by id"]["cpu_ms"] >= 0
    assert found["memory"]["after_mb"] > 0
    assert found["start"]["full_mb"] > 0
