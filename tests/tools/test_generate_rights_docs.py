"""The page of rights is what the APIs and routes declare."""

from tools.generate_rights_docs import DOCUMENT, document


def test_the_page_is_current() -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == document(), "run python -m tools.generate_rights_docs"


def test_what_is_asked_for_is_told() -> None:
    page = document()
    assert "| 0 | Produce | WRITE TRANSACTIONAL_ID, WRITE TOPIC |" in page
    assert "| 19 | CreateTopics | CREATE TOPIC or CREATE CLUSTER, WRITE TOPIC, DESCRIBE_CONFIGS TOPIC |" in page
    assert "| `DELETE /topics/{topic}/delayed/{partition}/{id}` | WRITE TOPIC |" in page
