"""What each listener asks of who comes by it, composed from the configuration and the node's services."""

import logging
import os
from collections.abc import Awaitable, Callable
from functools import partial

import trio
from attrs import define, field

from coordinators.access.callers import Proof
from coordinators.access.checking import Place
from coordinators.access.failed_logins import FailedLogins
from coordinators.access.fair_lock import FairLock
from coordinators.access.key_sets import KeySet
from coordinators.access.password_file import PasswordFile
from coordinators.access.scram import BY_NAME
from coordinators.access.tokens import TokenRules
from coordinators.access.users import Users
from coordinators.waiting import in_worker
from engine.clock import Clock
from engine.errors import InvalidConfig, SaslAuthenticationFailed
from engine.ids import RandomBytes
from engine.workers import Workers
from tidegate.clear_passwords import ClearPasswords
from tidegate.config import BrokerConfig
from wire.kafka.entrance import Entrance
from wire.kafka.listeners import Listener, ListenerSettings
from wire.kafka.nodes.trust import NodeTrust
from wire.kafka.sasl.login import Begin, LoginPolicy
from wire.kafka.sasl.oauthbearer import OAuthExchange
from wire.kafka.sasl.plain import CheckPassword, PlainExchange
from wire.kafka.sasl.scram import ScramExchange
from wire.tls.identity import PEM, TlsIdentity, TlsSources
from wire.tls.names import parse_rules

logger = logging.getLogger("tidegate.access")

RELOAD_S = 5.0
"""How often files are looked at."""
KEY_BYTES = 32
OAUTH = "OAUTHBEARER"
DOORS = ("http", "grpc", "text", "registry")
"""What the keys of the doors beside Kafka's begin with."""
JWKS_URL = "sasl.oauthbearer.jwks.endpoint.url"


@define(eq=False)
class Entrances:
    """Makes them, once, and has them read again what they were made from."""

    config: BrokerConfig
    users: Users
    trust: NodeTrust
    clock: Clock
    failed: FailedLogins
    workers: Workers
    random_bytes: RandomBytes = os.urandom
    all: list[Entrance] = field(factory=list, init=False)
    """By the number of the listener."""
    _files: dict[str, PasswordFile] = field(factory=dict, init=False)
    _identities: list[TlsIdentity] = field(factory=list, init=False)
    _key_sets: list[KeySet] = field(factory=list, init=False)
    _handshakes: trio.Lock = field(factory=trio.Lock, init=False)
    _checking: FairLock = field(factory=FairLock, init=False)
    """Passwords in clear are checked one at a time: that takes a processor's time on purpose, and others need it."""

    def __attrs_post_init__(self) -> None:
        """`InvalidConfig` where something is missing or cannot be used."""
        self.all = [self._entrance(listener) for listener in self.config.listeners]

    @property
    def identities(self) -> dict[str, TlsIdentity]:
        """The certificates, by the names of the listeners with TLS."""
        return {each.name: each.tls for each in self.all if each.tls is not None}

    @property
    def need_secret(self) -> bool:
        """Whether somebody may name users that there are not."""
        names = {name for each in self.all if each.login is not None for name in each.login.mechanisms}
        return not names.isdisjoint(BY_NAME) or any(
            "BASIC" in self.config.settings.items(f"{door}.enabled.mechanisms") for door in DOORS
        )

    def _entrance(self, listener: Listener) -> Entrance:
        protocol = self.config.protocol(listener)
        settings = ListenerSettings(self.config.settings, listener.name)
        tls = self._tls(settings) if protocol.has_tls else None
        return Entrance(listener.name, tls, self._policy(settings) if protocol.has_sasl else None)

    def _tls(self, settings: ListenerSettings, protocols: tuple[str, ...] = ()) -> TlsIdentity:
        keystore, truststore = settings.text("ssl.keystore.location"), settings.text("ssl.truststore.location")
        sources = TlsSources(
            keystore=keystore,
            chain=settings.text("ssl.keystore.certificate.chain"),
            key=settings.text("ssl.keystore.key"),
            key_password=settings.text("ssl.key.password"),
            truststore=truststore,
            trusted=settings.text("ssl.truststore.certificates"),
            revoked=settings.text("ssl.crl.location"),
            client_auth=settings.text("ssl.client.auth") or "none",
            versions=settings.items("ssl.enabled.protocols"),
            allows_other_names=settings.flag("ssl.allow.san.changes"),
            keystore_type=settings.text("ssl.keystore.type") or PEM,
            keystore_password=settings.text("ssl.keystore.password"),
            truststore_type=settings.text("ssl.truststore.type") or PEM,
            truststore_password=settings.text("ssl.truststore.password"),
        )
        rules = parse_rules(settings.text("ssl.principal.mapping.rules") or "DEFAULT")
        timeout_s = settings.integer("ssl.handshake.timeout.ms") / 1000
        identity = TlsIdentity(settings.name, sources, rules, timeout_s, self._handshakes, protocols)
        identity.load()
        self._identities.append(identity)
        return identity

    def door(self, name: str, protocols: tuple[str, ...] = ()) -> TlsIdentity:
        """TLS for another door than Kafka's, by the keys of a listener of this name; what is spoken in it, by ALPN."""
        return self._tls(ListenerSettings(self.config.settings, name), protocols)

    def token_check(self, name: str) -> Callable[[str, Place], Awaitable[Proof | None]]:
        """Whose token somebody sends to another door than Kafka's, by the keys of a listener of this name."""
        settings = ListenerSettings(self.config.settings, name)
        rules = self._token_rules(settings)
        exchange = OAuthExchange(self._key_set(settings), rules, self.clock)

        async def check(token: str, place: Place) -> Proof | None:
            try:
                valid = await exchange.validated(token, place)
            except SaslAuthenticationFailed:
                return None
            ends_ms = valid.expires_at_ms + rules.skew_s * 1000
            return Proof(valid.principal, lambda: self.clock.now_ms() < ends_ms, valid.tenant)

        return check

    def passwords(self) -> "ClearPasswords":
        """Whether somebody has a password that is sent in clear: a user of the file, or one of the catalogue."""
        settings = ListenerSettings(self.config.settings, "")
        file = self._password_file(settings) if settings.text("sasl.plain.users.location") else None
        return ClearPasswords(self.users, self.workers, self._checking, file)

    def _policy(self, settings: ListenerSettings) -> LoginPolicy:
        names = settings.items("sasl.enabled.mechanisms")
        if not names:
            raise InvalidConfig(f"sasl.enabled.mechanisms is empty, so nobody could log in on {settings.name}")
        return LoginPolicy(
            settings.name,
            {name: self._mechanism(name, settings) for name in names},
            self.trust,
            self.clock,
            self.failed,
            settings.integer("connection.failed.authentication.delay.ms") / 1000,
            settings.integer("sasl.authentication.timeout.ms") / 1000,
            settings.integer("sasl.server.max.receive.size"),
            {name: settings.integer("connections.max.reauth.ms", name) for name in names},
        )

    def _mechanism(self, name: str, settings: ListenerSettings) -> Begin:
        if name in BY_NAME:
            return lambda _: ScramExchange(BY_NAME[name], self.users, self.random_bytes)
        if name == "PLAIN":
            check = self._password_check(settings)
            return lambda address: PlainExchange(check, address)
        rules, keys = self._token_rules(settings), self._key_set(settings)
        return lambda _: OAuthExchange(keys, rules, self.clock)

    def _token_rules(self, settings: ListenerSettings) -> TokenRules:
        issuer = settings.text("sasl.oauthbearer.expected.issuer", OAUTH)
        audiences = settings.items("sasl.oauthbearer.expected.audience", OAUTH)
        if not issuer or not audiences or not settings.text(JWKS_URL, OAUTH):
            # Without any of them a token that anybody has made, or made for somebody else, would do (CVE-2026-33557).
            raise InvalidConfig(
                f"OAUTHBEARER on the listener {settings.name} needs {JWKS_URL}, sasl.oauthbearer.expected.issuer and "
                f"sasl.oauthbearer.expected.audience"
            )
        skew_s = settings.integer("sasl.oauthbearer.clock.skew.seconds", OAUTH)
        subject = settings.text("sasl.oauthbearer.sub.claim.name", OAUTH)
        tenant = settings.text("sasl.oauthbearer.tenant.claim.name", OAUTH)
        return TokenRules(issuer, frozenset(audiences), skew_s, subject or "sub", tenant)

    def _key_set(self, settings: ListenerSettings) -> KeySet:
        from tidegate.fetching_keys import fetcher  # here: only who takes tokens needs it

        url = settings.text(JWKS_URL, OAUTH) or ""
        first, longest = (
            settings.integer(f"sasl.oauthbearer.jwks.endpoint.retry.backoff.{name}", OAUTH) / 1000
            for name in ("ms", "max.ms")
        )
        refresh_s = settings.integer("sasl.oauthbearer.jwks.endpoint.refresh.ms", OAUTH) / 1000
        fetch = fetcher(url, settings.text("sasl.oauthbearer.jwks.ca.location", OAUTH))
        keys = KeySet(fetch, self.clock, self.workers, refresh_s, first, longest)
        self._key_sets.append(keys)
        return keys

    def _password_check(self, settings: ListenerSettings) -> CheckPassword:
        passwords = ClearPasswords(self.users, self.workers, self._checking)
        return partial(passwords.is_in_file, self._password_file(settings))

    def _password_file(self, settings: ListenerSettings) -> PasswordFile:
        path = settings.text("sasl.plain.users.location", "PLAIN")
        if not path:
            raise InvalidConfig(
                f"PLAIN on the listener {settings.name} needs sasl.plain.users.location, a file that "
                f"'tidegate user add NAME --users-file FILE' writes"
            )
        if path not in self._files:
            self._files[path] = PasswordFile(path, self.random_bytes(KEY_BYTES))
            self._files[path].load()
        return self._files[path]

    async def watch(self) -> None:
        """Read files again that have changed, and fetch keys, as long as the node serves."""
        async with trio.open_nursery() as nursery:
            for keys in self._key_sets:
                nursery.start_soon(keys.keep)
            while self._files or self._identities:
                await trio.sleep(RELOAD_S)
                await self.reload()

    async def reload(self) -> None:
        """Read again what has changed, now. Whatever stands in one of the files, the others are read and the node goes
        on with what it has."""
        for read in (*(each.reload for each in self._files.values()), *(each.reload for each in self._identities)):
            try:
                await in_worker(self.workers, read)
            except Exception as error:
                logger.error("a file of who may come in stays as it was read last: %s", type(error).__name__)
