"""The broker keys of who may come in: TLS's and SASL's, and what protects against those who try."""

from engine.config.keys import ConfigKey, ConfigType, Importance, Rule, at_least, between, distinct_from, one_of
from wire.kafka.listeners import MECHANISMS
from wire.tls.identity import CLIENT_AUTH, PEM, PKCS12, VERSIONS
from wire.tls.names import are_rules

_FORMS = Rule(
    lambda text: text in (PEM, PKCS12),
    "PEM or PKCS12; 'keytool -importkeystore -deststoretype PKCS12' makes it from JKS",
)


def _tls(name: str, documentation: str, *, sensitive: bool = False) -> ConfigKey:
    """Text that may be missing."""
    kind = ConfigType.PASSWORD if sensitive else ConfigType.STRING
    return ConfigKey(name, kind, None, documentation, dynamic=False, sensitive=sensitive, per_listener=True)


TLS_KEYS = (
    ConfigKey(
        "ssl.keystore.type",
        ConfigType.STRING,
        "PEM",
        "The form of the key and the certificate that listeners with TLS show: `PEM` or `PKCS12`.",
        _FORMS,
        dynamic=False,
        per_listener=True,
        default_reason="Java's own form, JKS, is not read.",
    ),
    _tls(
        "ssl.keystore.location",
        "A file with the key and the certificate chain (PEM) of a listener with TLS, or a directory with `tls.key` and "
        "`tls.crt`, as Kubernetes makes it of a secret. Read again when it changes, or at SIGHUP; connections that are "
        "there go on.",
    ),
    _tls("ssl.keystore.certificate.chain", "The certificate chain itself (PEM), in place of a file.", sensitive=True),
    _tls("ssl.keystore.key", "The key itself (PEM), in the place of a file.", sensitive=True),
    _tls("ssl.key.password", "The password of an encrypted key (PEM).", sensitive=True),
    _tls("ssl.keystore.password", "The password of a keystore in PKCS12.", sensitive=True),
    ConfigKey(
        "ssl.truststore.type",
        ConfigType.STRING,
        "PEM",
        "The form of the certificates that are trusted: `PEM` or `PKCS12`.",
        _FORMS,
        dynamic=False,
        per_listener=True,
        default_reason="Java's own form, JKS, is not read.",
    ),
    _tls(
        "ssl.truststore.location",
        "A file with the certificates (PEM) of the authorities whose clients are trusted, or a directory with "
        "`ca.crt`. Read again, too.",
    ),
    _tls("ssl.truststore.password", "The password of a truststore in PKCS12.", sensitive=True),
    _tls("ssl.truststore.certificates", "Those certificates themselves (PEM), in the place of a file."),
    _tls(
        "ssl.crl.location",
        "Tidegate's own key. A file with revocation lists (PEM), one of each authority that signs for clients: whose "
        "certificate stands there is not let in. Read again as the keystore is.",
    ),
    ConfigKey(
        "ssl.client.auth",
        ConfigType.STRING,
        "none",
        "Whether clients show certificates: `none`, `requested` (who has none is nobody in particular), `required`.",
        one_of(*CLIENT_AUTH),
        dynamic=False,
        per_listener=True,
    ),
    ConfigKey(
        "ssl.principal.mapping.rules",
        ConfigType.STRING,
        "DEFAULT",
        "What the name in a client's certificate becomes as a principal: rules `RULE:pattern/replacement/[LU]` or "
        "`DEFAULT`, the name itself, with commas between; the first whose pattern is the whole name counts (KIP-371).",
        Rule(are_rules, "a list of DEFAULT or RULE:pattern/replacement/[LU]"),
        dynamic=False,
        per_listener=True,
    ),
    ConfigKey(
        "ssl.enabled.protocols",
        ConfigType.LIST,
        tuple(VERSIONS),
        "The versions of TLS that are spoken.",
        Rule(lambda names: bool(names) and set(names) <= set(VERSIONS), f"some of {', '.join(VERSIONS)}"),
        dynamic=False,
        per_listener=True,
    ),
    ConfigKey(
        "ssl.allow.san.changes",
        ConfigType.BOOLEAN,
        False,
        "Whether a certificate that is read again may be about others than the last; else it must have the same "
        "owner and all of its names.",
        dynamic=False,
        per_listener=True,
    ),
    ConfigKey(
        "ssl.handshake.timeout.ms",
        ConfigType.INT,
        10_000,
        "Tidegate's own key. How long a TLS handshake may take, in milliseconds; then its connection is closed.",
        at_least(100),
        dynamic=False,
        per_listener=True,
    ),
)

SASL_KEYS = (
    ConfigKey(
        "sasl.enabled.mechanisms",
        ConfigType.LIST,
        ("SCRAM-SHA-512", "SCRAM-SHA-256"),
        "How clients may show who they are on listeners with SASL: `PLAIN`, `SCRAM-SHA-256`, `SCRAM-SHA-512`, "
        "`OAUTHBEARER`.",
        distinct_from(*MECHANISMS),
        dynamic=False,
        per_listener=True,
        default_reason="Kafka's is GSSAPI, which Tidegate does not have; with SCRAM no password goes over the wire.",
    ),
    ConfigKey(
        "sasl.plain.users.location",
        ConfigType.STRING,
        None,
        "Tidegate's own key. The file with the users of PLAIN, a name and a hash on each line, as `tidegate user add "
        "NAME --users-file FILE` writes it. Read again when it changes.",
        dynamic=False,
        per_listener=True,
    ),
    ConfigKey(
        "sasl.server.max.receive.size",
        ConfigType.INT,
        512 * 1024,
        "The largest request before a login, in bytes; a larger one closes its connection.",
        between(1024, 16 * 1024 * 1024),
        dynamic=False,
        per_listener=True,
    ),
    ConfigKey(
        "sasl.authentication.timeout.ms",
        ConfigType.INT,
        10_000,
        "Tidegate's own key. How long a connection may take to log in, in milliseconds; then it is closed.",
        at_least(100),
        dynamic=False,
        per_listener=True,
    ),
    ConfigKey(
        "connection.failed.authentication.delay.ms",
        ConfigType.INT,
        100,
        "How long a login that has failed waits for its answer, in milliseconds: whoever tries passwords waits.",
        between(0, 10_000),
        dynamic=False,
        importance=Importance.LOW,
        per_listener=True,
    ),
    ConfigKey(
        "connections.max.reauth.ms",
        ConfigType.LONG,
        0,
        "How long a login counts, in milliseconds. Clients are told, and log in again on the same connection in time "
        "(KIP-368); one that does not is closed. 0 is as long as the connection, or as its token.",
        at_least(0),
        dynamic=False,
        per_listener=True,
    ),
)

OAUTH_KEYS = (
    ConfigKey(
        "sasl.oauthbearer.jwks.endpoint.url",
        ConfigType.STRING,
        None,
        "Where the keys are by which tokens of OAUTHBEARER are signed (JWKS): an address with `https://`, or a file "
        "with `file:///`. OAUTHBEARER does not start without it, the audience and the issuer.",
        dynamic=False,
        per_listener=True,
    ),
    _tls("sasl.oauthbearer.jwks.ca.location", "Tidegate's own key. The authorities (PEM) that vouch for that address."),
    ConfigKey(
        "sasl.oauthbearer.jwks.endpoint.refresh.ms",
        ConfigType.LONG,
        3_600_000,
        "How often the keys are fetched again, in milliseconds; and when a token names an unknown one.",
        at_least(1_000),
        dynamic=False,
        per_listener=True,
    ),
    ConfigKey(
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms",
        ConfigType.LONG,
        100,
        "How soon that is tried again if it fails, in milliseconds; longer each time.",
        at_least(1),
        dynamic=False,
        per_listener=True,
    ),
    ConfigKey(
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms",
        ConfigType.LONG,
        10_000,
        "At the latest after so long, in milliseconds.",
        at_least(1),
        dynamic=False,
        per_listener=True,
    ),
    ConfigKey(
        "sasl.oauthbearer.expected.audience",
        ConfigType.LIST,
        (),
        "Whom tokens must be meant for: one of these.",
        dynamic=False,
        per_listener=True,
    ),
    _tls("sasl.oauthbearer.expected.issuer", "Who must have issued tokens."),
    ConfigKey(
        "sasl.oauthbearer.clock.skew.seconds",
        ConfigType.INT,
        30,
        "How far the issuer's clock may be from the broker's, in seconds.",
        between(0, 600),
        dynamic=False,
        per_listener=True,
    ),
    ConfigKey(
        "sasl.oauthbearer.sub.claim.name",
        ConfigType.STRING,
        "sub",
        "The claim of a token that names its owner, who is the principal.",
        dynamic=False,
        per_listener=True,
    ),
    _tls(
        "sasl.oauthbearer.tenant.claim.name",
        "Tidegate's own key. The claim of a token that names the tenant of its owner; without it no token does.",
    ),
)
