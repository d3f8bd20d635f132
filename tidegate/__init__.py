"""Tidegate: a message broker that speaks the Kafka wire protocol.

Importing this package is cheap and touches nothing else. `Broker` and `BrokerConfig`, for embedding in a
trio program, are loaded on first use; `tidegate.testing` runs a broker in a process of its own.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tidegate.broker import Broker as Broker
    from tidegate.config import BrokerConfig as BrokerConfig

    __version__: str

__all__ = ["Broker", "BrokerConfig", "__version__"]

_EMBEDDED = {"Broker": "tidegate.broker", "BrokerConfig": "tidegate.config"}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return _version()
    if name in _EMBEDDED:
        return _embedded(name)
    raise AttributeError(f"module 'tidegate' has no attribute {name!r}")


def _version() -> str:
    from importlib.metadata import version

    return version("tidegate")


def _embedded(name: str) -> Any:
    from importlib import import_module

    from tidegate import _path

    _path.activate_embedded()
    return getattr(import_module(_EMBEDDED[name]), name)
