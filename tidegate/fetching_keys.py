"""Where the keys of who issues tokens are fetched from: an https address, or a file of the operator."""

import http.client
import ssl
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from typing import Any

from engine.errors import InvalidConfig

ANSWER_S = 10.0
MOST_BYTES = 1024 * 1024
LOOPBACK = ("localhost", "127.0.0.1", "::1")


class _Staying(urllib.request.HTTPRedirectHandler):
    """Goes nowhere else than it was told to."""

    def redirect_request(self, *_arguments: Any, **_named: Any) -> None:
        return None


def fetcher(url: str, ca: str | None = None) -> Callable[[], bytes]:
    """[its result: thread] Fetches the document; `InvalidConfig` where one must not fetch from."""
    parts = urllib.parse.urlsplit(url)
    is_near = parts.scheme == "http" and parts.hostname in LOOPBACK
    if not (parts.scheme == "https" or is_near or (parts.scheme == "file" and not parts.netloc)):
        raise InvalidConfig(
            "sasl.oauthbearer.jwks.endpoint.url must begin with https:// or file:///: keys that anybody on the way "
            "could exchange protect nothing"
        )
    if parts.scheme == "file":
        path = urllib.parse.unquote(parts.path)
        return lambda: _read(path)
    context = ssl.create_default_context(cafile=ca) if parts.scheme == "https" else None
    handlers: list[urllib.request.BaseHandler] = [_Staying(), urllib.request.ProxyHandler()]
    if context is not None:
        handlers.append(urllib.request.HTTPSHandler(context=context))
    opener = urllib.request.build_opener(*handlers)

    def fetch() -> bytes:
        try:
            with opener.open(url, timeout=ANSWER_S) as answer:
                return _bounded(answer.read(MOST_BYTES + 1))
        except urllib.error.URLError as error:
            # Not its own text: an address may carry a secret.
            raise OSError(f"no answer ({getattr(error, 'code', None) or type(error.reason).__name__})") from None
        except http.client.HTTPException as error:
            raise OSError(f"no answer of HTTP ({type(error).__name__})") from None

    return fetch


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return _bounded(file.read(MOST_BYTES + 1))


def _bounded(document: bytes) -> bytes:
    if len(document) > MOST_BYTES:
        raise ValueError(f"it has more than {MOST_BYTES} bytes")
    return document
