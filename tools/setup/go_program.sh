#!/bin/sh
# Builds programs that the tests run, by Go, each into .cache/NAME: `sh tools/setup/go_program.sh helm k6`. One that is
# on the PATH is not built; one that cannot be had is left out, with what is not tested for lack of it.
set -eu
cd "$(dirname "$0")/../.."

build() {  # NAME MODULE@VERSION WHAT-IS-LEFT-OUT
    place=.cache/$1
    command -v "$1" >/dev/null 2>&1 && return
    [ -e "$place/$1" ] || [ -e "$place/missing" ] && return
    mkdir -p "$place"
    echo "== setup: building $1 (some minutes, once)"
    if ! GOBIN="$(pwd)/$place" GOFLAGS=-modcacherw nice -n 15 go install "$2" >"$place/build.log" 2>&1; then
        touch "$place/missing"
        echo "== setup: $1 cannot be had here (see $place/build.log): $3. To try again, remove $place/missing" >&2
    fi
}

for name in "$@"; do
    case $name in
        helm) build helm helm.sh/helm/v3/cmd/helm@v3.19.0 "the chart is not checked with it" ;;
        k6) build k6 go.k6.io/k6@v1.3.0 "the load test of deploy/load is not run" ;;
        minio) build minio github.com/minio/minio@v0.0.0-20260212201848-7aac2a2c5b7c \
            "the pipelines are tested on moto's object store" ;;
        *) echo "no program '$name': helm, k6, minio" >&2; exit 2 ;;
    esac
done
