#!/bin/sh
# Prints the command of a Python that is new enough (3.11) and able to make a venv; says what to do if none is.
# PYTHON=... chooses one.
set -eu
. "$(dirname "$0")/apt.sh"

able='import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))'

find_python() {
    for python in ${PYTHON:-} python3 python3.14 python3.13 python3.12 python3.11; do
        # A name on the path may be a stub of a version manager, so it is run, not just looked for.
        if "$python" -c "$able" 2>/dev/null; then
            echo "$python"
            return 0
        fi
    done
    return 1
}

find_python && exit 0
apt_install python3 python3-venv || true
find_python && exit 0

echo "No Python 3.11 or later with the venv module was found." >&2
echo "Install one (Debian and Ubuntu: python3 and python3-venv), or name it: make PYTHON=/path/to/python venv" >&2
exit 1
