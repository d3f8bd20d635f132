"""Files of settings: TOML, or JSON where the name ends in `.json`.

Tables and objects within one another join the names: `{"log": {"segment.bytes": 1048576}}` is `log.segment.bytes`. A
JSON file may say in short where the broker is and where its data lies: `{"host": "127.0.0.1", "port": 9092, "storage":
"data"}`, as `--host`, `--kafka-port` and `--data-dir` do.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from attrs import field, frozen

from engine.errors import InvalidConfig

HOST, PORT, STORAGE = "host", "port", "storage"
SHORT = (HOST, PORT, STORAGE)
MEANT = {HOST: "listeners", PORT: "listeners", STORAGE: "log.dirs"}
DEFAULT_HOST, DEFAULT_PORT = "127.0.0.1", 9092


@frozen
class Setting:
    """A key and its value as given, and where it was given, in words for a message."""

    name: str
    value: object = field(repr=False)
    origin: str


def file_settings(path: Path) -> Iterator[Setting]:
    """The settings of a file; `InvalidConfig` if it cannot be read."""
    is_json = path.suffix.lower() == ".json"
    try:
        text = path.read_text(encoding="utf-8")
        document = _json(text) if is_json else _toml(text)
    except OSError as error:
        raise InvalidConfig(f"Cannot read the configuration file {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        kind = "JSON" if is_json else "TOML"
        raise InvalidConfig(f"The configuration file {path} is not {kind}: {error}") from error
    origin = f"file {path}"
    if is_json:
        document = _without_short(document, origin)
    for name, value in _flat(document, ""):
        yield Setting(name, value, origin)


# Here and below, imported where they are used: most brokers have no such file, and every start would wait for it.


def _toml(text: str) -> dict[str, Any]:
    import tomllib

    return tomllib.loads(text)


def _json(text: str) -> dict[str, Any]:
    import json

    document = json.loads(text, object_pairs_hook=_once)
    if not isinstance(document, dict):
        raise ValueError("an object with settings is wanted")
    return document


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"it says {name} twice")
        found[name] = value
    return found


def _without_short(document: Mapping[str, Any], origin: str) -> dict[str, Any]:
    """The settings with broker keys in place of what is short for them."""
    found = {name: value for name, value in document.items() if name not in SHORT}
    for name in SHORT:
        if name in document and MEANT[name] in found:
            raise InvalidConfig(f"{name} and {MEANT[name]} say the same in two ways; give one of them ({origin})")
    if HOST in document or PORT in document:
        found[MEANT[HOST]] = _listener(document, origin)
    if STORAGE in document:
        storage = document[STORAGE]
        if not isinstance(storage, str) or not storage:
            raise InvalidConfig(f"storage is a directory, not {storage!r} ({origin})")
        found[MEANT[STORAGE]] = storage
    return found


def _listener(document: Mapping[str, Any], origin: str) -> str:
    host, port = document.get(HOST, DEFAULT_HOST), document.get(PORT, DEFAULT_PORT)
    if not isinstance(host, str):
        raise InvalidConfig(f"host is a name or an address, not {host!r} ({origin})")
    if isinstance(port, bool) or not isinstance(port, int) or not 0 <= port <= 65_535:
        raise InvalidConfig(f"port is a number from 0 to 65535, not {port!r} ({origin})")
    return f"PLAINTEXT://{f'[{host}]' if ':' in host else host}:{port}"


def _flat(table: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, object]]:
    for part, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{part}.")
        else:
            yield prefix + part, value
