#!/bin/sh
# What the compatibility tests need from the system: kcat, Java 17 or later, Maven. Installs what is missing with
# apt-get where that is possible (as root, or with sudo), otherwise says what to install and fails.
set -eu

java_is_enough() {
    version="$(java -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -n 1)"
    [ "${version:-0}" -ge 17 ]
}

find_missing() {
    missing=""
    command -v kcat >/dev/null 2>&1 || missing="$missing kcat"
    java_is_enough 2>/dev/null || missing="$missing default-jdk-headless"
    command -v mvn >/dev/null 2>&1 || missing="$missing maven"
}

# Prints how to become root; without a terminal sudo must not ask for a password.
become_root() {
    if [ "$(id -u)" -eq 0 ]; then
        echo "env"
    elif command -v sudo >/dev/null 2>&1 && [ -t 0 ] && [ -z "${CI:-}" ]; then
        echo "sudo env"
    elif sudo -n true 2>/dev/null; then
        echo "sudo -n env"
    else
        return 1
    fi
}

install_missing() {
    command -v apt-get >/dev/null 2>&1 || return 1
    root="$(become_root)" || return 1
    echo "== system: installing$missing with apt-get"
    $root DEBIAN_FRONTEND=noninteractive apt-get update -qq </dev/null || return 1
    # shellcheck disable=SC2086  # a list of package names
    $root DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends $missing </dev/null >/dev/null
}

find_missing
[ -z "$missing" ] && exit 0
install_missing || true
find_missing
[ -z "$missing" ] && exit 0

echo "The tests need kcat, Java 17 or later and Maven. These Debian packages are missing and could not be installed" >&2
echo "from here:$missing. Install them (or what your system calls them), then run 'make test' again." >&2
exit 1
