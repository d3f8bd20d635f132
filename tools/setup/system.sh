#!/bin/sh
# What the compatibility tests need from the system: kcat, nc, Java 17 or later, Maven. Installs what is missing where it
# may, otherwise says what to install and fails.
set -eu
. "$(dirname "$0")/apt.sh"

java_is_enough() {
    version="$(java -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -n 1)"
    [ "${version:-0}" -ge 17 ]
}

find_missing() {
    missing=""
    command -v kcat >/dev/null 2>&1 || missing="$missing kcat"
    command -v nc >/dev/null 2>&1 || missing="$missing netcat-openbsd"
    java_is_enough 2>/dev/null || missing="$missing default-jdk-headless"
    command -v mvn >/dev/null 2>&1 || missing="$missing maven"
}

find_missing
[ -z "$missing" ] && exit 0
# shellcheck disable=SC2086  # a list of package names
apt_install $missing || true
find_missing
[ -z "$missing" ] && exit 0

echo "The tests need kcat, nc, Java 17 or later and Maven. These Debian packages are missing and could not be installed" >&2
echo "from here:$missing. Install them (or what your system calls them), then run 'make test' again." >&2
exit 1
