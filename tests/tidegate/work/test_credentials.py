"""How a worker logs in, against the examples of the standards."""

import pytest

from tidegate.work import credentials
from tidegate.work.conversation import Conversation
from tidegate.work.credentials import Credentials
from tidegate.work.job import WorkError
from wire.kafka.codec import WireError, response_encoder, response_start
from wire.kafka.messages.api_versions import ApiVersion, ApiVersionsResponse
from wire.kafka.messages.sasl_authenticate import SaslAuthenticateResponse
from wire.kafka.messages.sasl_handshake import SaslHandshakeResponse

# RFC 7677, section 3.
NONCE = "rOprNGfwEbeRWgbNEkqO"
SERVER_FIRST = f"r={NONCE}%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
CLIENT_FINAL = f"c=biws,r={NONCE}%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
SERVER_FINAL = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


@pytest.fixture(autouse=True)
def _fixed_nonce(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(credentials, "_nonce", lambda: NONCE)


def test_scram_goes_as_the_standard_shows() -> None:
    dialogue = Credentials("SCRAM-SHA-256", "user", "pencil").dialogue()
    assert next(dialogue) == f"n,,n=user,r={NONCE}".encode()
    assert dialogue.send(SERVER_FIRST.encode()) == CLIENT_FINAL.encode()
    with pytest.raises(StopIteration):
        dialogue.send(SERVER_FINAL)


def test_a_name_may_hold_what_scram_has_for_itself() -> None:
    assert next(Credentials("SCRAM-SHA-512", "a=b,c", "x").dialogue()) == f"n,,n=a=3Db=2Cc,r={NONCE}".encode()


@pytest.mark.parametrize(
    "first",
    [
        SERVER_FIRST.replace(NONCE, "another"),
        f"r={NONCE},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
        SERVER_FIRST.replace("i=4096", "i=1"),
        SERVER_FIRST.replace("i=4096", "i=99999999"),
        SERVER_FIRST.replace("i=4096", "i=x"),
        SERVER_FIRST.replace("s=W22ZaJ0SNY7soEsUEjb6gQ==", "s=!"),
        "",
    ],
)
def test_a_broker_that_is_none_is_told_nothing_more(first: str) -> None:
    dialogue = Credentials("SCRAM-SHA-256", "user", "pencil").dialogue()
    next(dialogue)
    with pytest.raises(WorkError):
        dialogue.send(first.encode())


def test_a_broker_must_know_the_password_too() -> None:
    dialogue = Credentials("SCRAM-SHA-256", "user", "pencil").dialogue()
    next(dialogue)
    dialogue.send(SERVER_FIRST.encode())
    with pytest.raises(WorkError, match="another"):
        dialogue.send(SERVER_FINAL.replace(b"6", b"7"))


def test_plain_and_tokens() -> None:
    assert list(Credentials("PLAIN", "u", "p").dialogue()) == [b"\0u\0p"]
    taken = iter(["one", "two"])
    bearer = Credentials("OAUTHBEARER", token=lambda: next(taken))
    assert next(bearer.dialogue()) == b"n,,\x01auth=Bearer one\x01\x01"
    again = bearer.dialogue()
    assert next(again) == b"n,,\x01auth=Bearer two\x01\x01"
    assert again.send(b'{"status":"invalid_token"}') == b"\x01"


@pytest.mark.parametrize(
    "given", [("GSSAPI", "u", "p"), ("PLAIN", "u", ""), ("SCRAM-SHA-256", "", "p"), ("OAUTHBEARER",)]
)
def test_what_is_missing_is_told_at_once(given: tuple[str, ...]) -> None:
    with pytest.raises(ValueError):
        Credentials(*given)


def test_secrets_are_not_shown() -> None:
    text = repr(Credentials("PLAIN", "name", "secret", "jwt"))
    assert "name" in text
    assert "secret" not in text
    assert "jwt" not in text


# -- in a conversation


class Broker:
    """Answers what a conversation asks, by hand."""

    def __init__(self, conversation: Conversation) -> None:
        self.conversation = conversation
        self.number = 0

    def asked(self) -> int:
        """The API key of the one request that was sent."""
        return int.from_bytes(self.conversation.to_send()[4:6], "big")

    def answer(self, key: int, version: int, message: object, now: float = 0.0) -> None:
        self.number += 1
        body = b"".join(map(bytes, response_encoder(key, version)(message)))
        start = response_start(key, version)
        self.conversation.receive(start.pack(start.size - 4 + len(body), self.number) + body, now)


def let_in(**last: int) -> tuple[Conversation, Broker]:
    conversation = Conversation("1", Credentials("PLAIN", "u", "p"))
    broker = Broker(conversation)
    conversation.open(0.0)
    assert broker.asked() == 18
    versions = ApiVersionsResponse(api_keys=[ApiVersion(17, 0, 1), ApiVersion(36, 0, 2)])
    broker.answer(18, 3, versions)
    assert (broker.asked(), conversation.is_ready) == (17, False)
    broker.answer(17, 1, SaslHandshakeResponse(mechanisms=["PLAIN"]))
    assert (broker.asked(), conversation.is_ready) == (36, False)
    broker.answer(36, 2, SaslAuthenticateResponse(**last))
    return conversation, broker


def test_nothing_else_is_asked_before_it_is_let_in() -> None:
    conversation, _ = let_in()
    assert conversation.is_ready
    assert conversation.renew_at is None


def test_a_login_is_renewed_before_it_ends() -> None:
    conversation, broker = let_in(session_lifetime_ms=10_000)
    assert conversation.renew_at == 8.5
    conversation.show(8.5)
    assert (broker.asked(), conversation.is_ready) == (17, False)
    broker.answer(17, 1, SaslHandshakeResponse(mechanisms=["PLAIN"]), 8.6)
    assert broker.asked() == 36
    broker.answer(36, 2, SaslAuthenticateResponse(session_lifetime_ms=10_000), 8.7)
    assert conversation.is_ready
    assert conversation.renew_at == pytest.approx(17.2)


def test_whoever_is_not_let_in_is_told_why() -> None:
    with pytest.raises(WorkError, match="does not let us in: 58"):
        let_in(error_code=58)


def test_a_mechanism_that_the_broker_does_not_take() -> None:
    conversation = Conversation("1", Credentials("PLAIN", "u", "p"))
    broker = Broker(conversation)
    conversation.open(0.0)
    broker.answer(18, 3, ApiVersionsResponse(api_keys=[ApiVersion(17, 0, 1)]))
    with pytest.raises(WorkError, match="does not take PLAIN: it takes SCRAM-SHA-512"):
        broker.answer(17, 1, SaslHandshakeResponse(error_code=33, mechanisms=["SCRAM-SHA-512"]))


def test_a_login_that_is_no_text_ends_the_connection() -> None:
    conversation = Conversation("1", Credentials("SCRAM-SHA-256", "u", "p"))
    broker = Broker(conversation)
    conversation.open(0.0)
    broker.answer(18, 3, ApiVersionsResponse(api_keys=[ApiVersion(17, 0, 1), ApiVersion(36, 0, 2)]))
    broker.answer(17, 1, SaslHandshakeResponse())
    with pytest.raises(WireError):
        broker.answer(36, 2, SaslAuthenticateResponse(auth_bytes=b"\xff\xfe"))
