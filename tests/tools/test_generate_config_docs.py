"""The page about configuration is current and complete."""

from coordinators.group_configs import GROUP_CONFIGS
from engine.config.topic import TOPIC_KEYS
from tidegate.config_keys import BROKER_KEYS
from tools.generate_config_docs import DOCUMENT, document


def test_the_page_is_what_the_keys_say() -> None:
    assert DOCUMENT.read_text() == document(), "run: python -m tools.generate_config_docs"


def test_every_key_has_a_row() -> None:
    rows = [line.split(" | ")[0] for line in document().splitlines() if line.startswith("| `")]
    assert rows == [f"| `{name}`" for name in (*TOPIC_KEYS, *BROKER_KEYS, *GROUP_CONFIGS)]
