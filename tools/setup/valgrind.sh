#!/bin/sh
# Installs Valgrind, with which the tests count the instructions of a request. Where it cannot be had they take CPU
# time instead, so its absence is only noted, once.
set -eu
cd "$(dirname "$0")/../.."
. tools/setup/apt.sh

mark=.cache/valgrind-missing
command -v valgrind >/dev/null 2>&1 && exit 0
[ -e "$mark" ] && exit 0
apt_install valgrind && exit 0
mkdir -p .cache
touch "$mark"
echo "== setup: Valgrind cannot be had here; CPU time is compared instead of instructions" >&2
