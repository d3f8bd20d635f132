"""The package itself: cheap to import, and its names load on first use."""

import subprocess
import sys
from importlib.metadata import version

import pytest

import tidegate


def test_it_knows_its_version() -> None:
    assert tidegate.__version__ == version("tidegate")


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Brooker'"):
        tidegate.Brooker  # noqa: B018


def test_broker_and_its_config_load_on_first_use() -> None:
    assert tidegate.Broker.__module__.split(".")[0] == "tidegate"
    assert tidegate.BrokerConfig.__module__.split(".")[0] == "tidegate"


def test_importing_it_loads_nothing_else_of_ours() -> None:
    program = "import sys, tidegate; print(sorted({'trio', 'attr', 'kio', 'engine', 'wire'} & set(sys.modules)))"
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert output.strip() == "[]"
