#!/bin/sh
# Makes .venv with the project (editable) and its development tools. A stamp makes it quick when nothing changed:
# the stamp holds pyproject.toml's checksum and the checkout's place, which an editable install depends on.
# An editable install leaves the project's own modules uncompiled, and where PYTHONDONTWRITEBYTECODE is set (containers
# do so) every start would compile them anew, which doubles it: so they are compiled here, those that changed, and with
# them what is written in C (tools/compile.py).
set -eu
cd "$(dirname "$0")/../.."

compile_modules() {
    .venv/bin/python -m compileall -q tidegate wire coordinators engine tools
    .venv/bin/python -m tools.compile
}

stamp=.venv/.tidegate-stamp
key="$(cksum <pyproject.toml) $(pwd)"
if [ -x .venv/bin/python ] && [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$key" ]; then
    compile_modules
    exit 0
fi

if ! .venv/bin/python -c '' 2>/dev/null; then
    python="$(sh tools/setup/python.sh)"
    echo "== venv: making .venv with $("$python" --version)"
    "$python" -m venv --clear .venv
fi
echo "== venv: installing the project and its development tools"
.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-input --editable '.[client,dev,otlp,spark]'
echo "$key" >"$stamp"
compile_modules
