"""The topic keys of tracing. Kafka has none of them; the broker keys behind them begin with `log.`."""

from engine.config.keys import BrokerSynonym, ConfigKey, ConfigType, between

PER_SECOND_MAX = 1_000_000

TRACING = (
    ConfigKey(
        "trace.enable",
        ConfigType.BOOLEAN,
        True,
        "Tidegate's own key. Whether records are traced: those whose header `traceparent` is sampled, and those that "
        "the two keys below choose. `false` costs nothing and looks at no record.",
        synonyms=(BrokerSynonym("log.trace.enable"),),
    ),
    ConfigKey(
        "trace.sample.per.second",
        ConfigType.INT,
        10,
        "Tidegate's own key. How many records without the header `traceparent` are traced per second all the same, at "
        "most one per batch; 0 traces none.",
        between(0, PER_SECOND_MAX),
        synonyms=(BrokerSynonym("log.trace.sample.per.second"),),
    ),
    ConfigKey(
        "trace.sample.ratio",
        ConfigType.DOUBLE,
        0.0,
        "Tidegate's own key. Which share of the records without the header `traceparent` is traced besides; 0.01 is "
        "every hundredth.",
        between(0, 1),
        synonyms=(BrokerSynonym("log.trace.sample.ratio"),),
    ),
)
