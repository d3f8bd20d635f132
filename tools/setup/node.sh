#!/bin/sh
# What the tests of the TypeScript client need: Node 18 or later with npm, and the packages that build it. Where they
# cannot be had those tests are left out, and say so.
set -eu
. "$(dirname "$0")/apt.sh"
here="$(cd "$(dirname "$0")/../../clients/typescript" && pwd)"

node_is_enough() {
    version="$(node --version 2>/dev/null | sed -n 's/^v\([0-9]*\).*/\1/p')"
    [ "${version:-0}" -ge 18 ] && command -v npm >/dev/null 2>&1
}

node_is_enough || apt_install nodejs npm || true
if ! node_is_enough; then
    echo "== setup: no Node 18 with npm here: the TypeScript client is not tested" >&2
    exit 0
fi
[ "$here/node_modules/.package-lock.json" -nt "$here/package-lock.json" ] && exit 0
echo "== setup: the packages that build the TypeScript client"
(cd "$here" && npm ci --no-audit --no-fund) || echo "== setup: they cannot be had: the TypeScript client is not tested" >&2
