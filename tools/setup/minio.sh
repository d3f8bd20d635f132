#!/bin/sh
# Builds MinIO from its modules, into .cache/minio: the scenarios of pipelines on an object store then run against it
# instead of moto. Needs Go and some minutes; nothing else needs it.
set -eu
cd "$(dirname "$0")/../.."

version=v0.0.0-20260212201848-7aac2a2c5b7c place=$(pwd)/.cache/minio
[ -x "$place/minio" ] && exit 0
command -v go >/dev/null 2>&1 || { echo "Go is needed to build MinIO" >&2; exit 1; }
mkdir -p "$place"
GOBIN="$place" GOFLAGS=-modcacherw nice -n 15 go install "github.com/minio/minio@$version"
