"""The broker keys of tenants."""

from coordinators.tenants.rows import is_tenant_name
from engine.config.keys import ConfigKey, ConfigType, Rule, at_least

TENANT_KEYS = (
    ConfigKey(
        "tenant",
        ConfigType.STRING,
        None,
        "Tidegate's own key. All who come by the listener belong to this tenant: they see its topics, groups and "
        "transactional ids, and no others. Who belongs to another one is refused, and everybody while there is no "
        "such tenant.",
        Rule(is_tenant_name, "letters, digits and '-' within"),
        dynamic=False,
        per_listener=True,
    ),
    ConfigKey(
        "tenant.rewrite",
        ConfigType.BOOLEAN,
        False,
        "Tidegate's own key. Whether clients that belong to a tenant say and see names without its prefix: `orders` "
        "for `acme.orders`. A tenant can have that by every listener, too (`tidegate tenant create --rewrite`).",
        dynamic=False,
        per_listener=True,
    ),
    ConfigKey(
        "tenant.burst.ms",
        ConfigType.INT,
        250,
        "Tidegate's own key. How many milliseconds' worth of its byte rates a tenant may publish or read at once, "
        "after which it goes at that pace. The more, the more is noticed by others when it begins.",
        at_least(1),
        dynamic=False,
    ),
)
