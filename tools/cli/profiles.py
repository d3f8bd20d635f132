"""Where the broker is and how it is reached: options, environment variables, profiles in a file, defaults.

A profile is a table of `~/.config/tidegate/cli.toml`, or of the file that TIDEGATE_CLI_CONFIG names:

    default = "local"

    [profiles.local]
    bootstrap = "127.0.0.1:9092"

    [profiles.production]
    bootstrap = "kafka-1:9093,kafka-2:9093"
    security_protocol = "SASL_SSL"
    sasl_mechanism = "SCRAM-SHA-512"
    sasl_username = "tools"
    sasl_password_file = "secret.txt"
    ssl_cafile = "ca.pem"
"""

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import evolve, field, fields, frozen

from tools.cli.errors import UsageMistake

ENVIRONMENT_PREFIX = "TIDEGATE_CLI_"
DEFAULT_BOOTSTRAP = "127.0.0.1:9092"
DEFAULT_HTTP = "http://127.0.0.1:8080"
DEFAULT_TIMEOUT_S = 15.0
PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")


@frozen
class Profile:
    """How to reach a broker."""

    bootstrap: str = DEFAULT_BOOTSTRAP
    http: str | None = None
    """The operations door; None: the broker is asked where it is."""
    token: str | None = field(default=None, repr=False)
    timeout_s: float = DEFAULT_TIMEOUT_S
    security_protocol: str = "PLAINTEXT"
    sasl_mechanism: str = "PLAIN"
    sasl_username: str | None = None
    sasl_password: str | None = field(default=None, repr=False)
    sasl_token: str | None = field(default=None, repr=False)
    """For OAUTHBEARER; the door takes it, too."""
    ssl_cafile: str | None = None
    ssl_certfile: str | None = None
    ssl_keyfile: str | None = None
    ssl_check_hostname: bool = True
    names_bootstrap: bool = False
    """Whether somebody has named the broker, or it is the one that is meant by default."""


_TYPES: dict[str, type | tuple[type, ...]] = {"timeout_s": (int, float), "ssl_check_hostname": bool}
_NAMES = tuple(each.name for each in fields(Profile) if each.name != "names_bootstrap")
_FROM_FILE = ("token", "sasl_password", "sasl_token")


def config_file(environment: Mapping[str, str]) -> Path:
    """Where profiles are."""
    if named := environment.get(f"{ENVIRONMENT_PREFIX}CONFIG"):
        return Path(named)
    home = environment.get("XDG_CONFIG_HOME") or str(Path(environment.get("HOME", "~")).expanduser() / ".config")
    return Path(home) / "tidegate" / "cli.toml"


def load(name: str | None, environment: Mapping[str, str]) -> Profile:
    """The profile of this name, or the default one; what environment variables say goes before it."""
    file = config_file(environment)
    found = _read(file, name or environment.get(f"{ENVIRONMENT_PREFIX}PROFILE") or None)
    for each in _NAMES:
        value = environment.get(ENVIRONMENT_PREFIX + each.upper())
        secret = environment.get(f"{ENVIRONMENT_PREFIX}{each.upper()}_FILE") if each in _FROM_FILE else None
        if value:
            found[each] = _parsed(each, value)
        elif secret:
            found[each] = _secret(Path(secret))
    # The broker's own variable for its token serves the caller on the same machine too.
    if "token" not in found and environment.get("TIDEGATE_HTTP_TOKEN"):
        found["token"] = environment["TIDEGATE_HTTP_TOKEN"]
    return checked(Profile(**found, names_bootstrap="bootstrap" in found))


def with_options(profile: Profile, **options: Any) -> Profile:
    """The profile, with what the command's options say before it."""
    given = {name: value for name, value in options.items() if value is not None}
    if "bootstrap" in given:
        given["names_bootstrap"] = True
    return checked(evolve(profile, **given))


def checked(profile: Profile) -> Profile:
    """The profile, if it can be."""
    if profile.security_protocol not in PROTOCOLS:
        _refuse("security_protocol", profile.security_protocol, PROTOCOLS)
    if profile.security_protocol.startswith("SASL_"):
        if profile.sasl_mechanism not in MECHANISMS:
            _refuse("sasl_mechanism", profile.sasl_mechanism, MECHANISMS)
        if profile.sasl_mechanism == "OAUTHBEARER":
            if not profile.sasl_token:
                raise UsageMistake("OAUTHBEARER needs sasl_token", "set it, or sasl_token_file")
        elif not profile.sasl_username or profile.sasl_password is None:
            raise UsageMistake(f"{profile.security_protocol} needs sasl_username and sasl_password", "set both")
    for address in profile.bootstrap.split(","):
        host, _, port = address.strip().rpartition(":")
        if not host or not port.isdecimal() or not 0 < int(port) < 65536:
            raise UsageMistake(f"{address!r} is no address of a broker", f"write it like {DEFAULT_BOOTSTRAP}")
    if profile.http is not None and not profile.http.startswith(("http://", "https://")):
        raise UsageMistake(f"{profile.http!r} is no address of an operations door", f"write it like {DEFAULT_HTTP}")
    if not profile.timeout_s > 0:
        raise UsageMistake(f"a timeout of {profile.timeout_s} s is none", "give more than 0 seconds")
    return profile


def _refuse(key: str, value: str, allowed: tuple[str, ...]) -> None:
    raise UsageMistake(f"{key} cannot be {value!r}", f"one of {', '.join(allowed)}")


def _read(file: Path, name: str | None) -> dict[str, Any]:
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        if name is None:
            return {}
        hint = "write one, or set --bootstrap"
        raise UsageMistake(f"there is no profile {name!r}, for there is no file {file}", hint) from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageMistake(f"{file} cannot be read: {error}", "see docs/cli.md for what it looks like") from None
    chosen = name or document.get("default")
    if chosen is None:
        return {}
    profiles = document.get("profiles", {})
    if not isinstance(profiles, dict) or not isinstance(profiles.get(chosen), dict):
        known = ", ".join(profiles) if isinstance(profiles, dict) and profiles else "none"
        raise UsageMistake(f"{file} has no profile {chosen!r}", f"it has {known}")
    return _checked_table(profiles[chosen], chosen, file)


def _checked_table(table: dict[str, Any], name: str, file: Path) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in table.items():
        if key.removesuffix("_file") in _FROM_FILE and key.endswith("_file"):
            found[key.removesuffix("_file")] = _secret(file.parent / str(value))
        elif key not in _NAMES:
            raise UsageMistake(f"{file}: profile {name!r} has an unknown key {key!r}", f"known are {', '.join(_NAMES)}")
        elif not isinstance(value, _TYPES.get(key, str)):
            raise UsageMistake(f"{file}: {key} of profile {name!r} cannot be {value!r}", "see docs/cli.md")
        else:
            found[key] = value
    for key in ("ssl_cafile", "ssl_certfile", "ssl_keyfile"):
        if key in found:
            found[key] = str(file.parent / found[key])
    return found


def _secret(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageMistake(
            f"the secret in {file} cannot be read: {error}", "see the profile, or the variable"
        ) from None


def _parsed(name: str, text: str) -> Any:
    if name == "ssl_check_hostname":
        return text.lower() not in ("0", "false", "no")
    if name != "timeout_s":
        return text
    try:
        return float(text)
    except ValueError:
        raise UsageMistake(f"{ENVIRONMENT_PREFIX}TIMEOUT_S is {text!r}", "give a number of seconds") from None


def from_environment(name: str | None = None) -> Profile:
    """The profile as this process's environment has it."""
    return load(name, os.environ)
