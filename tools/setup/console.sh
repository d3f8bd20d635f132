#!/bin/sh
# What the console's tests need: a browser, and the packages that its files are built with. Where they cannot be had
# those tests are skipped; the broker serves the files as they are.
set -eu
cd "$(dirname "$0")/../.."
. tools/setup/apt.sh

mark=.cache/console-missing
[ -e "$mark" ] && exit 0
stamp=tools/console/node_modules/.package-lock.json
if command -v chromium >/dev/null 2>&1 && [ "$stamp" -nt tools/console/package-lock.json ]; then
    exit 0
fi
echo "== setup: a browser and the console's packages"
command -v chromium >/dev/null 2>&1 || apt_install chromium || true
if ! { command -v chromium >/dev/null 2>&1 && command -v npm >/dev/null 2>&1 &&
    (cd tools/console && npm ci --no-audit --no-fund --loglevel=error >/dev/null 2>&1); }; then
    echo "== setup: no browser or no npm can be had here; the console is not tried in a browser" >&2
    mkdir -p .cache
    touch "$mark"
fi
