"""Settings as commands name them; test_config.py has them with a broker."""

import pytest

from tools.cli.errors import UsageMistake
from tools.cli.settings import assignments


def test_settings_are_keys_and_values() -> None:
    assert assignments(["a.b=1", "c=x=y", "d="]) == {"a.b": "1", "c": "x=y", "d": ""}


@pytest.mark.parametrize("text", ["a.b", "=1"])
def test_what_is_no_setting_is_told(text: str) -> None:
    with pytest.raises(UsageMistake, match="no setting"):
        assignments([text])
