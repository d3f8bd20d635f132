"""Calls to a Kafka broker: aiokafka's connections (TLS, SASL, the nodes of a cluster) with our codec's messages.

aiokafka knows the requests that its own clients need; our codec has every API of Kafka in every version. So a message
of `wire.kafka.messages` is sent as aiokafka sends its own, in the last version that both sides have (docs/adr/0012).
"""

import asyncio
import logging
import signal
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from functools import partial
from io import BytesIO
from typing import Any, TypeVar

from attrs import define, frozen

from tools.cli.errors import CannotReach, CliError, Ended, NotOffered, Refused, is_retriable, refusal
from tools.cli.profiles import Profile
from tools.cli.progress import waiting
from wire.kafka.codec import is_flexible, request_encoder, response_decoder, schema_versions
from wire.kafka.messages.find_coordinator import FindCoordinatorRequest
from wire.kafka.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseTopic,
)

# Tidegate tells producers of this name a base offset that cannot be taken for one where a batch is held back: aiokafka
# adds each record's place to it.
CLIENT_ID = "aiokafka-tidegate-cli"
GROUP_COORDINATOR, TRANSACTION_COORDINATOR = 0, 1
RETRY_S = 0.2
SASL_ERRORS = (33, 34, 58)
UNKNOWN_TOPIC = 3
Result = TypeVar("Result")


class _Causes(logging.Handler):
    """Why connections failed. aiokafka logs every try, and raises in the end without a reason."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.last: BaseException | None = None

    def emit(self, record: logging.LogRecord) -> None:
        errors = [each for each in record.args or () if isinstance(each, BaseException)]
        self.last = errors[-1] if errors else self.last

    def take(self) -> BaseException | None:
        """The last cause, once."""
        cause, self.last = self.last, None
        return cause


_causes = _Causes()


def run(work: Coroutine[Any, Any, Result], *, waits: bool = True) -> Result:
    """Run a command's asynchronous part; `waits`: a person who looks sees, after a second, that it goes on."""
    log = logging.getLogger("aiokafka")
    log.addHandler(_causes)
    log.propagate = False
    if not waits:
        return asyncio.run(_ending_well(work))
    with waiting("waiting for the broker"):
        return asyncio.run(_ending_well(work))


async def _ending_well(work: Coroutine[Any, Any, Result]) -> Result:
    """Do the work; a signal that asks for an end is obeyed as Ctrl-C is: groups are left, transactions aborted."""
    loop, task, told = asyncio.get_running_loop(), asyncio.current_task(), []
    assert task is not None

    def end(number: signal.Signals) -> None:
        told.append(number)
        task.cancel()
        # Who asks again does not want to wait.
        loop.remove_signal_handler(number)

    with suppress(ValueError, RuntimeError):  # elsewhere than in the main thread there are no signals
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is signal.SIG_DFL:
                loop.add_signal_handler(number, end, number)
    try:
        return await work
    except asyncio.CancelledError:
        if not told:
            raise
        raise Ended(told[0]) from None


def client_options(profile: Profile) -> dict[str, Any]:
    """What all of aiokafka's clients take to reach a broker."""
    options: dict[str, Any] = {
        "bootstrap_servers": profile.bootstrap,
        "client_id": CLIENT_ID,
        "request_timeout_ms": round(profile.timeout_s * 1_000),
        "security_protocol": profile.security_protocol,
        "ssl_context": ssl_context(profile) if profile.security_protocol.endswith("SSL") else None,
    }
    if profile.security_protocol.startswith("SASL_"):
        options["sasl_mechanism"] = profile.sasl_mechanism
        if profile.sasl_mechanism == "OAUTHBEARER":
            options["sasl_oauth_token_provider"] = _token_provider(profile.sasl_token or "")
            return options
        options["sasl_plain_username"] = profile.sasl_username
        options["sasl_plain_password"] = profile.sasl_password
    return options


def _token_provider(token: str) -> Any:
    from aiokafka.abc import AbstractTokenProvider

    class Given(AbstractTokenProvider):  # type: ignore[misc]
        async def token(self) -> str:
            return token

    return Given()


def ssl_context(profile: Profile) -> ssl.SSLContext:
    """By which brokers and doors are reached that the profile's authority vouches for."""
    try:
        context = ssl.create_default_context(cafile=profile.ssl_cafile)
        context.check_hostname = profile.ssl_check_hostname
        if profile.ssl_certfile is not None:
            context.load_cert_chain(profile.ssl_certfile, profile.ssl_keyfile)
    except (OSError, ssl.SSLError) as error:
        raise CliError(f"the certificates of the profile cannot be used: {error}", "see ssl_cafile") from None
    return context


@asynccontextmanager
async def reaching(profile: Profile, what: str | None = None) -> AsyncIterator[None]:
    """Say what aiokafka raises in our words; `what` is the topic or group in question."""
    from aiokafka import errors

    try:
        yield
    except (errors.KafkaConnectionError, errors.NodeNotReadyError) as error:
        raise _unreachable(profile, _causes.take()) from error
    except errors.RequestTimedOutError as error:
        raise CannotReach(
            f"{profile.bootstrap} did not answer within {profile.timeout_s:g} s", "see --timeout"
        ) from error
    except errors.AuthenticationFailedError as error:
        raise Refused(f"{profile.bootstrap} does not let us in: {error}", "see the profile's sasl_ keys") from error
    except errors.IncompatibleBrokerVersion as error:
        hint = "it takes a newer broker, or a user who belongs to no tenant"
        raise NotOffered(f"{profile.bootstrap} does not offer this: {_arguments(error)}", hint) from error
    except errors.KafkaError as error:
        code = getattr(error, "errno", 0) or 0
        if code > 0:
            raise refusal(code, repr(what) if what is not None else _arguments(error) or "the request") from error
        raise Refused(f"the broker at {profile.bootstrap} answers {error}") from error


def _arguments(error: BaseException) -> str:
    return " ".join(map(str, error.args))


def _unreachable(profile: Profile, cause: BaseException | None) -> CliError:
    """No connection came about; `cause` is why the last try failed."""
    if isinstance(cause, ssl.SSLError):
        reason = getattr(cause, "verify_message", "") or getattr(cause, "reason", "") or str(cause)
        return CannotReach(f"no TLS with {profile.bootstrap}: {reason}", "see ssl_cafile and security_protocol")
    if getattr(cause, "errno", None) in SASL_ERRORS:
        said = " ".join(map(str, cause.args)) if cause is not None else ""
        return Refused(f"{profile.bootstrap} does not let us in: {said or cause}", "see the profile's sasl_ keys")
    hint = "is the broker running there? 'tidegate serve' starts one, --bootstrap names another"
    if cause is not None and not isinstance(cause, ConnectionRefusedError):
        # It took the connection and then said nothing that we understand.
        hint = "is it a Kafka broker, and does it want TLS or a password? See security_protocol, --bootstrap, --timeout"
    return CannotReach(f"no Kafka broker answers at {profile.bootstrap}", hint)


@frozen
class _Prepared:
    """A message as aiokafka's connection sends it: in one version."""

    message: Any
    version: int

    @property
    def RESPONSE_TYPE(self) -> Any:  # noqa: N802 - the name that aiokafka asks for
        return _Decoding(self.message.API_KEY, self.version)

    def build_request_header(self, correlation_id: int, client_id: str) -> Any:
        from aiokafka.protocol.api import RequestHeader_v1, RequestHeader_v2

        head = RequestHeader_v2 if is_flexible(self.message.API_KEY, self.version) else RequestHeader_v1
        return head(_Named(self.message.API_KEY, self.version), correlation_id=correlation_id, client_id=client_id)

    def encode(self) -> bytes:
        parts = request_encoder(self.message.API_KEY, self.version)(self.message)
        # Regions of files stand only in what a broker sends.
        return b"".join(part for part in parts if isinstance(part, bytes))

    def parse_response_header(self, buffer: BytesIO) -> Any:
        from aiokafka.protocol.api import ResponseHeader_v0, ResponseHeader_v1

        head = ResponseHeader_v1 if is_flexible(self.message.API_KEY, self.version) else ResponseHeader_v0
        return head.decode(buffer)


@frozen
class _Named:
    """Key and version, as aiokafka's header asks for them."""

    API_KEY: int
    API_VERSION: int


@frozen
class _Decoding:
    """Reads the answer of one key and version."""

    api_key: int
    version: int

    def decode(self, buffer: BytesIO) -> Any:
        return response_decoder(self.api_key, self.version)(buffer.read(), 0)


@frozen
class _Request:
    """A message that is prepared when the connection knows the broker's versions."""

    message: Any
    last_version: int | None = None

    def prepare(self, versions: dict[int, tuple[int, int]]) -> _Prepared:
        from aiokafka.errors import IncompatibleBrokerVersion

        key = self.message.API_KEY
        first, last = schema_versions(key)
        if self.last_version is not None:
            last = min(last, self.last_version)
        name = type(self.message).__name__.removesuffix("Request")
        if key not in versions:
            raise IncompatibleBrokerVersion(f"it has no {name}")
        version = min(last, versions[key][1])
        if version < max(first, versions[key][0]):
            raise IncompatibleBrokerVersion(f"no version of {name} is known to both")
        return _Prepared(self.message, version)


@define(eq=False)
class Kafka:
    """A connected client."""

    client: Any
    profile: Profile

    async def call(self, message: Any, *, node: int | None = None, last_version: int | None = None) -> Any:
        """Send a request to a node, any one that can be reached if none is named, and give the answer."""
        from aiokafka.errors import NodeNotReadyError

        request = _Request(message, last_version)
        async with reaching(self.profile):
            if node is not None:
                return await self.client.send(node, request)
            first = self.client.get_random_node()
            for each in [other for other in self.nodes if other != first]:
                # One that has just gone is still among those that clients are told of.
                with suppress(NodeNotReadyError):
                    return await self.client.send(first, request)
                first = each
            return await self.client.send(first, request)

    @property
    def nodes(self) -> list[int]:
        """The ids of all nodes."""
        return sorted(broker.nodeId for broker in self.client.cluster.brokers())

    async def metadata(self, topics: list[str] | None = None) -> MetadataResponse:
        """Nodes, and these topics, or all."""
        wanted = None if topics is None else [MetadataRequestTopic(name=name) for name in topics]
        answer: MetadataResponse = await self.call(MetadataRequest(topics=wanted, allow_auto_topic_creation=False))
        return answer

    async def topic(self, name: str) -> MetadataResponseTopic:
        """One topic; an error if there is none."""
        return (await self.topics([name]))[0]

    async def topics(self, names: list[str]) -> list[MetadataResponseTopic]:
        """Topics by name; an error if one is missing."""

        async def ask() -> list[MetadataResponseTopic]:
            found = (await self.metadata(names)).topics
            for each in found:
                if each.error_code == UNKNOWN_TOPIC:
                    raise await self._unknown(each.name or "")
                check(each.error_code, each.name or "")
            return found

        return await self.patiently(ask)

    async def _unknown(self, name: str) -> Refused:
        """That there is no such topic, and which one may have been meant."""
        from difflib import get_close_matches

        error = refusal(UNKNOWN_TOPIC, repr(name))
        known = [topic.name or "" for topic in (await self.metadata()).topics]
        if close := get_close_matches(name, known, n=1):
            error.hint = f"did you mean {close[0]!r}? {error.hint}"
        return error

    async def coordinator(self, key: str, kind: int = GROUP_COORDINATOR) -> int:
        """The node that answers for a group or a transactional id."""

        async def ask() -> int:
            answer = await self.call(FindCoordinatorRequest(key_type=kind, coordinator_keys=[key], key=key))
            found = answer.coordinators[0] if answer.coordinators else answer
            check(found.error_code, key, found.error_message)
            return int(found.node_id)

        return await self.patiently(ask)

    async def patiently(self, ask: Callable[[], Awaitable[Result]]) -> Result:
        """Ask again while something is being elected or loaded, as long as the timeout allows."""
        deadline = time.monotonic() + self.profile.timeout_s
        while True:
            try:
                return await ask()
            except Refused as error:
                if not is_retriable(error.code) or time.monotonic() >= deadline:
                    raise
            await asyncio.sleep(RETRY_S)

    async def everywhere(self, message: Any) -> list[Any]:
        """The answers of all nodes."""
        return list(
            await asyncio.gather(*(self.patiently(partial(self._checked, message, node)) for node in self.nodes))
        )

    async def _checked(self, message: Any, node: int) -> Any:
        answer = await self.call(message, node=node)
        check(answer.error_code, f"node {node}")
        return answer


@asynccontextmanager
async def connected(profile: Profile) -> AsyncIterator[Kafka]:
    """A client for the length of a block."""
    from aiokafka.client import AIOKafkaClient

    async with reaching(profile):
        client = AIOKafkaClient(**client_options(profile))
        try:
            await client.bootstrap()
            yield Kafka(client, profile)
        finally:
            await client.close()


async def stopped(client: Any, stopping: Coroutine[Any, Any, None], patience_s: float) -> bool:
    """Let a producer or consumer end, and give it up if it cannot: without its broker it would try for ever.

    `client` is its connections, which are closed then. Whether it did end by itself."""
    task = asyncio.ensure_future(stopping)
    _, late = await asyncio.wait({task}, timeout=patience_s)
    for each in late:
        each.cancel()
    await asyncio.gather(task, return_exceptions=bool(late))
    if late:
        await client.close()
    return not late


def causes_of_failure() -> BaseException | None:
    """Why a connection failed since this was asked last."""
    return _causes.take()


def check(code: int, what: str, said: str | None = None) -> None:
    """Raise for an error code."""
    if code:
        raise refusal(code, repr(what), said)
