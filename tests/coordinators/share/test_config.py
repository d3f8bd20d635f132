"""What share groups can be configured to."""

import pytest
from attrs import evolve

from coordinators.group_configs import GroupConfigs
from coordinators.share.broker_keys import SHARE_GROUP_KEYS
from coordinators.share.config import SHARE_CONFIGS, ShareGroupSettings, duration_ms
from engine.config.resolve import BrokerSettings
from tidegate.config_keys import BROKER_KEYS


def test_a_broker_that_is_not_told_otherwise_gives_the_plain_settings() -> None:
    assert GroupConfigs(BrokerSettings(keys=BROKER_KEYS)).share_settings("g") == ShareGroupSettings()
    assert GroupConfigs(BrokerSettings()).share_settings("g") == ShareGroupSettings()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("PT1S", 1_000),
        ("P2D", 2 * 86_400_000),
        ("P1DT2H3M4.567S", 86_400_000 + 2 * 3_600_000 + 3 * 60_000 + 4_567),
        ("pt0.5s", 500),
        ("PT0S", 0),
        ("+PT+1M", 60_000),
        ("", None),
        ("P", None),
        ("PT", None),
        ("P1DT", None),
        ("-PT1H", None),
        ("PT-1H", None),
        ("P1Y", None),
        ("PT1H ", None),
        ("PT\u0661S", None),
    ],
)
def test_durations_are_read_as_java_reads_them(text: str, expected: int | None) -> None:
    assert duration_ms(text) == expected


def test_a_group_may_begin_with_what_is_so_old() -> None:
    settings = ShareGroupSettings()
    assert settings.reset_age_ms is None
    assert evolve(settings, auto_offset_reset="by_duration:PT1H").reset_age_ms == 3_600_000


def test_every_bound_and_default_is_a_key_of_the_broker() -> None:
    known = {key.name for key in SHARE_GROUP_KEYS}
    for each in SHARE_CONFIGS:
        named = {each.least, each.greatest, *(synonym.name for synonym in each.key.synonyms)} - {""}
        assert named <= known, each.name
        for synonym in each.key.synonyms:
            assert BROKER_KEYS[synonym.name].default == each.key.default
