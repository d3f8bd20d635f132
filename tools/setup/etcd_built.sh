#!/bin/sh
# Builds a later etcd than Debian's from its modules, into .cache/etcd-VERSION/etcd: for a run of the tests on it
# (with its directory first on the PATH). Needs Go and some minutes; nothing else needs it.
set -eu
cd "$(dirname "$0")/../.."

version=${1:-3.6.16}
place=$(pwd)/.cache/etcd-$version
[ -x "$place/etcd" ] && { echo "$place/etcd"; exit 0; }
command -v go >/dev/null 2>&1 || { echo "Go is needed to build etcd" >&2; exit 1; }
mkdir -p "$place/source"
cd "$place/source"
cat >go.mod <<END
module example.com/etcd

go 1.24
END
cat >main.go <<END
package main

import "os"
import "go.etcd.io/etcd/server/v3/etcdmain"

func main() { etcdmain.Main(os.Args) }
END
GOFLAGS=-mod=mod go get "go.etcd.io/etcd/server/v3@v$version" >&2
GOFLAGS=-mod=mod go mod tidy >&2
nice -n 15 go build -o ../etcd . >&2
echo "$place/etcd"
