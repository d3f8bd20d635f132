#!/bin/sh
# Gets etcd, which keeps the catalogue of a cluster: the one on the path, or Debian's package unpacked into .cache/etcd.
# No root is needed, and no service is started.
set -eu
cd "$(dirname "$0")/../.."

place=.cache/etcd
command -v etcd >/dev/null 2>&1 && exit 0
[ -x "$place/usr/bin/etcd" ] && exit 0
echo "== setup: etcd"
if command -v apt-get >/dev/null 2>&1; then
    . tools/setup/apt.sh
    mkdir -p "$place"
    fetch() { (cd "$place" && apt-get download -qq etcd-server >/dev/null 2>&1); }
    fetch || { apt_update && fetch; } || true
    for package in "$place"/etcd-server_*.deb; do
        [ -e "$package" ] && dpkg -x "$package" "$place" && rm "$package"
    done
fi
[ -x "$place/usr/bin/etcd" ] && exit 0
echo "The tests of a cluster need etcd (3.4, or 3.5.3 and later). Install it so that 'etcd' is on the path (Debian: etcd-server)," >&2
echo "then run this again." >&2
exit 1
