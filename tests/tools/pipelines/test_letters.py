"""The SQL that reads a dead letter's headers; what it finds is tested on real letters."""

from tools.pipelines.letters import FIELDS, field_expression, style_expression


def test_every_field_asks_all_its_headers_in_order() -> None:
    for field, headers in FIELDS.items():
        expression = field_expression(field)
        places = [expression.index(f"'{name}'") for name, _ in headers]
        assert places == sorted(places)


def test_numbers_in_bytes_are_numbers() -> None:
    assert "conv(hex(" in field_expression("origin_offset")
    assert "conv(hex(" not in field_expression("origin_topic")


def test_whose_headers_they_are() -> None:
    assert all(prefix in style_expression() for prefix in ("__dlq.errors.", "__connect.errors.", "kafka_dlt-"))
