#!/bin/sh
# Puts k6 into .cache/k6, built by Go: a test runs the load test of deploy/load with it. Where it cannot be had that is
# skipped; nothing else needs it.
set -eu
cd "$(dirname "$0")/../.."

place=.cache/k6 version=v1.3.0
command -v k6 >/dev/null 2>&1 && exit 0
[ -e "$place/k6" ] || [ -e "$place/missing" ] && exit 0
mkdir -p "$place"
echo "== setup: building k6 (some minutes, once)"
if ! { command -v go >/dev/null 2>&1 && GOBIN="$(pwd)/$place" GOFLAGS=-modcacherw go install "go.k6.io/k6@$version" >/dev/null 2>&1; }; then
    echo "== setup: k6 cannot be had here; the load test of deploy/load is not run" >&2
    touch "$place/missing"
fi
