#!/bin/sh
# Puts helm into .cache/helm, built by Go: the tests check the chart with it. Where it cannot be had they skip that;
# nothing else needs it.
set -eu
cd "$(dirname "$0")/../.."

place=.cache/helm version=v3.19.0
command -v helm >/dev/null 2>&1 && exit 0
[ -e "$place/helm" ] || [ -e "$place/missing" ] && exit 0
mkdir -p "$place"
echo "== setup: building helm (some minutes, once)"
if ! { command -v go >/dev/null 2>&1 && GOBIN="$(pwd)/$place" GOFLAGS=-modcacherw go install "helm.sh/helm/v3/cmd/helm@$version" >/dev/null 2>&1; }; then
    echo "== setup: helm cannot be had here; the chart is not checked with it" >&2
    touch "$place/missing"
fi
