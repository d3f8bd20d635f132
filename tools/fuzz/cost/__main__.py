"""Searches for the dearest requests of every API and version that is served.

    python -m tools.fuzz.cost                                # the newest version of each API
    python -m tools.fuzz.cost --versions all --mutations 20  # all of them, longer
    python -m tools.fuzz.cost --apis fetch produce --page docs/reliability.md

Exit code 1 if a request broke a bound. Results are kept in --results and added to; --page writes them into a page.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tools.fuzz.cost import table
from tools.fuzz.cost.search import Bounds, Finding, watch_another, worst_of
from wire.kafka.apis import Api, registered

SHOWN = 3


def main(argv: Sequence[str] | None = None) -> int:
    options = _options(argv)
    bounds = Bounds()
    broken = 0
    for api, version in _chosen(options.apis, options.versions):
        worst = worst_of(api.key, version, mutations=options.mutations, seed=options.seed, bounds=bounds)
        if options.watch:
            watch_another(worst)
        found = table.row(worst)
        print(
            f"{found.api} v{version}: {found.requests} requests, {found.stall_ms} ms, {found.growth_mib} MiB",
            flush=True,
        )
        complaints = worst.complaints(bounds)
        broken += bool(complaints)
        for finding in complaints[:SHOWN]:
            print(f"  {_described(finding)}", flush=True)
        table.save(options.results, table.merged(table.load(options.results), [found]))
    if options.page is not None:
        options.page.write_text(table.written_into(options.page.read_text(), table.load(options.results)))
    return 1 if broken else 0


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--apis", nargs="*", default=[], help="names such as fetch; all where none is given")
    parser.add_argument("--versions", choices=("newest", "all"), default="newest")
    parser.add_argument("--mutations", type=int, default=8, help="how many, after the systematic beginning")
    parser.add_argument("--watch", action="store_true", help="measure what another client notices of the dearest")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--results", type=Path, default=Path("build/costs.json"))
    parser.add_argument("--page", type=Path)
    return parser.parse_args(argv)


def _chosen(names: Sequence[str], versions: str) -> Iterator[tuple[Api, int]]:
    apis = {api.name: api for _, api in sorted(registered().items())}
    unknown = [name for name in names if name not in apis]
    if unknown:
        raise SystemExit(f"no API is called {', '.join(unknown)}; there are {', '.join(apis)}")
    for api in (apis[name] for name in names or apis):
        first = api.last_version if versions == "newest" else api.first_version
        yield from ((api, version) for version in range(first, api.last_version + 1))


def _described(finding: Finding) -> str:
    cost = finding.cost
    return (
        f"{cost.stall_ms:,.0f} ms, {cost.growth_bytes / 2**20:,.1f} MiB, {cost.request_bytes:,} bytes asked, "
        f"{cost.answer_bytes:,} {cost.outcome}: {finding.genome}"
    )


if __name__ == "__main__":
    sys.exit(main())
