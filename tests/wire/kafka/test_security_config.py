"""The keys of who may come in: what they take, and that no secret is among what is shown."""

import pytest

from engine.config.keys import ConfigType, by_name
from engine.errors import InvalidConfig
from wire.kafka import security_config

KEYS = by_name((*security_config.TLS_KEYS, *security_config.SASL_KEYS, *security_config.OAUTH_KEYS))


def test_all_are_the_operators_alone_and_may_be_a_listeners_own() -> None:
    """No URL, file or secret can be set over the wire (CVE-2023-25194 and its like)."""
    assert [key.name for key in KEYS.values() if key.dynamic] == []
    assert [key.name for key in KEYS.values() if not key.per_listener] == []


@pytest.mark.parametrize("name", ["ssl.keystore.key", "ssl.key.password"])
def test_secrets_are_not_shown(name: str) -> None:
    key = KEYS[name]
    assert (key.type, key.format("sesame")) == (ConfigType.PASSWORD, None)
    assert "sesame" not in str(key.refusal("sesame"))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("ssl.keystore.type", "JKS"),
        ("ssl.client.auth", "sometimes"),
        ("ssl.enabled.protocols", "TLSv1.1"),
        ("ssl.enabled.protocols", ""),
        ("ssl.principal.mapping.rules", "RULE:("),
        ("sasl.enabled.mechanisms", "GSSAPI"),
        ("sasl.server.max.receive.size", "100"),
    ],
)
def test_what_cannot_be_is_refused(name: str, text: str) -> None:
    with pytest.raises(InvalidConfig):
        KEYS[name].parse(text)
