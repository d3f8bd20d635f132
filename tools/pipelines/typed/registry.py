"""A schema registry as pipelines ask it: schemas with all that they refer to, and the same put into another registry.

Nothing but Python's own library, since the driver may run where there is nothing else.
"""

import base64
import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from tools.pipelines.options import PipelineError

Told = dict[str, Any]
"""A schema: `schema`, `schemaType`, and `references` with what they refer to in turn."""
CONTENT = "application/vnd.schemaregistry.v1+json"
TIMEOUT_S = 30
NOT_FOUND = 404
MOST_LEVELS = 100


class Registry:
    """Of any server that speaks Confluent's API. `settings` are named as its clients name them."""

    def __init__(self, url: str, settings: Mapping[str, str]) -> None:
        self._url = url.rstrip("/")
        self._headers = {"Content-Type": CONTENT, "Accept": CONTENT, **_credentials(settings)}
        authority = settings.get("ssl.ca.location")
        self._tls = ssl.create_default_context(cafile=authority) if url.startswith("https:") else None

    def schema(self, name: str) -> Told | None:
        """The schema `ids/7` or `guids/...`; None if there is none."""
        found = self._ask("GET", f"/schemas/{name}")
        return None if found is None else self._whole(found)

    def register(self, subject: str, told: Told) -> Told:
        """Have a schema registered under a subject, after all that it refers to; what the registry says of it."""
        references = [
            {
                "name": each["name"],
                "subject": each["subject"],
                "version": self.register(each["subject"], each)["version"],
            }
            for each in told["references"]
        ]
        content = {"schema": told["schema"], "schemaType": told["schemaType"], "references": references}
        path = f"/subjects/{quote(subject, safe='')}"
        self._ask("POST", f"{path}/versions", content)
        # Not every server says more of what it has just registered than its id.
        return self._ask("POST", path, content) or {}

    def _whole(self, found: Told, level: int = 0) -> Told:
        if level > MOST_LEVELS:
            raise PipelineError("schemas of the registry refer to each other without end")
        references = []
        for each in found.get("references") or ():
            path = f"/subjects/{quote(each['subject'], safe='')}/versions/{each['version']}"
            # It may be deleted softly: what refers to it needs it all the same.
            version = self._ask("GET", f"{path}?deleted=true")
            if version is None:
                raise PipelineError(f"the registry has no version {each['version']} of {each['subject']}")
            references.append({**each, **self._whole(version, level + 1)})
        return {"schemaType": found.get("schemaType", "AVRO"), "schema": found["schema"], "references": references}

    def _ask(self, method: str, path: str, body: Any = None) -> Told | None:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._url + path, data, self._headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S, context=self._tls) as answer:
                return dict(json.loads(answer.read()))
        except urllib.error.HTTPError as error:
            said = error.read()
            if error.code == NOT_FOUND and method == "GET":
                return None
            raise PipelineError(f"the registry answers {error.code}: {_message(said)}") from None
        except (OSError, ValueError) as error:
            raise PipelineError(f"the registry {self._url} cannot be asked: {error}") from None


def _credentials(settings: Mapping[str, str]) -> dict[str, str]:
    if user := settings.get("basic.auth.user.info"):
        return {"Authorization": "Basic " + base64.b64encode(user.encode()).decode()}
    if token := settings.get("bearer.auth.token"):
        return {"Authorization": f"Bearer {token}"}
    return {}


def _message(said: bytes) -> str:
    try:
        return str(json.loads(said)["message"])
    except (ValueError, KeyError, TypeError):
        return repr(said[:100])
