"""kafka-python's protocol classes and Apache Kafka's message definitions, which it ships.

It reads them in a way that Python 3.11 deprecates; elsewhere in the tests a warning is an error.
"""

import importlib
import warnings
from functools import cache
from typing import Any

MODULES = (
    "kafka.protocol.admin",
    "kafka.protocol.consumer",
    "kafka.protocol.metadata",
    "kafka.protocol.producer",
    "kafka.protocol.sasl",
)


@cache
def definition(name: str) -> dict[str, Any]:
    """Kafka's own definition of a message, such as `FetchRequest`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        loaded: dict[str, Any] = importlib.import_module("kafka.protocol.schemas.load_json").load_json(name)
    return loaded


@cache
def message_classes() -> dict[str, Any]:
    """kafka-python's requests and responses by name."""
    classes: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        for module in MODULES:
            loaded = vars(importlib.import_module(module))
            classes |= {name: value for name, value in loaded.items() if name.endswith(("Request", "Response"))}
    return classes
