"""A group consumer over HTTP, with nothing but Python's own library."""

import json
import urllib.error
import urllib.request
from typing import Any

from compat_tests.groups.speaking import commands, options, say

POLL_MS = 200


def call(method: str, url: str, body: Any = None) -> Any:
    headers = {"X-Tidegate": "1", "Content-Type": "application/json"}
    request = urllib.request.Request(url, None if body is None else json.dumps(body).encode(), headers, method=method)
    with urllib.request.urlopen(request, timeout=60) as answer:
        said = answer.read()
    return json.loads(said) if said else None


def main() -> None:
    given = options()
    order = {
        "topics": [given["topic"]],
        "reset": "earliest",
        "auto_commit": not given.get("commit", True),
        "session_ms": given.get("session_ms", 6000),
    }
    members = f"http://{given['http']}/groups/{given['group']}/members"
    member = call("POST", members, order)["url"]
    held: set[tuple[str, int]] = set()
    while True:
        try:
            held = _poll(member, held, commits=given.get("commit", True))
        except urllib.error.HTTPError as error:
            say(error=error.read().decode())
            if error.code == 404:
                say(revoked=sorted(held))
                return
        for command in commands():
            if command == "close":
                call("DELETE", member)
                say(closed=True)
                return


def _poll(member: str, held: set[tuple[str, int]], *, commits: bool) -> set[tuple[str, int]]:
    polled = call("GET", f"{member}/records?wait_ms={POLL_MS}")
    now = {(each["topic"], index) for each in polled["assignment"] for index in each["partitions"]}
    if held - now:
        say(revoked=sorted(held - now))
    if now - held:
        say(assigned=sorted(now - held))
    for each in polled["records"]:
        say(record=[each["partition"], each["offset"], each["value"]])
    if polled["records"] and commits:
        call("POST", f"{member}/commit", {"generation": polled["generation"]})
        say(committed=len(polled["records"]))
    return now


if __name__ == "__main__":
    main()
