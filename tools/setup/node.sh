#!/bin/sh
# What the tests in Node need: Node 18 or later with npm, the packages that build the TypeScript client, and kafkajs's
# client of schema registries. Where they cannot be had those tests are left out, and say so.
set -eu
. "$(dirname "$0")/apt.sh"
root="$(cd "$(dirname "$0")/../.." && pwd)"

node_is_enough() {
    version="$(node --version 2>/dev/null | sed -n 's/^v\([0-9]*\).*/\1/p')"
    [ "${version:-0}" -ge 18 ] && command -v npm >/dev/null 2>&1
}

packages() {
    [ "$root/$1/node_modules/.package-lock.json" -nt "$root/$1/package-lock.json" ] && return
    echo "== setup: packages of npm for $1"
    (cd "$root/$1" && npm ci --no-audit --no-fund) || echo "== setup: they cannot be had: $1 is not tested" >&2
}

node_is_enough || apt_install nodejs npm || true
if ! node_is_enough; then
    echo "== setup: no Node 18 with npm here: nothing is tested in Node" >&2
    exit 0
fi
packages clients/typescript
packages compat_tests/registry/kafkajs
