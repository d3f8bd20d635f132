#!/bin/sh
# Makes .venv with the project (editable) and its development tools. A stamp makes it quick when nothing changed:
# the stamp holds pyproject.toml's checksum and the checkout's place, which an editable install depends on.
set -eu
cd "$(dirname "$0")/../.."

stamp=.venv/.tidegate-stamp
key="$(cksum <pyproject.toml) $(pwd)"
if [ -x .venv/bin/python ] && [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$key" ]; then
    exit 0
fi

if ! .venv/bin/python -c '' 2>/dev/null; then
    python="$(sh tools/setup/python.sh)"
    echo "== venv: making .venv with $("$python" --version)"
    "$python" -m venv --clear .venv
fi
echo "== venv: installing the project and its development tools"
.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-input --editable '.[dev,otlp,spark]'
echo "$key" >"$stamp"
