"""The broker keys of transactions."""

from engine.config.broker import BROKER_KEYS
from engine.config.broker_transactions import TRANSACTION_KEYS


def test_they_are_broker_keys_with_kafkas_defaults() -> None:
    defaults = {key.name: key.default for key in TRANSACTION_KEYS}
    assert defaults["transaction.max.timeout.ms"] == 900_000
    assert defaults["transactional.id.expiration.ms"] == 604_800_000
    assert defaults["transaction.state.log.num.partitions"] == 50
    assert set(defaults) <= set(BROKER_KEYS)
