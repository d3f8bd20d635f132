#!/bin/sh
# Puts promtool into .cache/promtool, out of Debian's package `prometheus`, which is unpacked and not installed: the
# tests check the alert rules with it. Where it cannot be had they skip that; nothing else needs it.
set -eu
cd "$(dirname "$0")/../.."

place=.cache/promtool
command -v promtool >/dev/null 2>&1 && exit 0
[ -e "$place/promtool" ] || [ -e "$place/missing" ] && exit 0
mkdir -p "$place/unpacked"
place="$(pwd)/$place"
if command -v apt-get >/dev/null 2>&1 && command -v dpkg >/dev/null 2>&1 &&
    (cd "$place" && apt-get download -qq prometheus >/dev/null 2>&1 && dpkg -x prometheus_*.deb unpacked); then
    mv "$place/unpacked/usr/bin/promtool" "$place/promtool"
else
    echo "== setup: promtool cannot be had here; the alert rules are not checked with it" >&2
    touch "$place/missing"
fi
rm -rf "$place/unpacked" "$place"/prometheus_*.deb
