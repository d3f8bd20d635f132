#!/bin/sh
# The steps of the Dockerfile in a plain folder, where no container engine answers: build, copy, run, ask the health check.
#   [PYTHON=/usr/bin/python3] deploy/docker/dry-run.sh FOLDER
# No image comes of it, and the base is this machine with its Python, not Debian's image: so it shows that the steps work,
# not that the image does. As root the broker runs as user 10001, with every file system but its data read-only and
# without capabilities, as `docker run --read-only --cap-drop=ALL` has it.
set -eu
[ $# -eq 1 ] || { echo "dry run: in which folder?" >&2; exit 2; }
root=$(cd "$(dirname "$0")/../.." && pwd)
dockerfile=$root/deploy/docker/Dockerfile
mkdir -p "$1"
folder=$(cd "$1" && pwd)
place=$folder/tidegate data=$folder/data

say() { printf 'dry run: %s\n' "$*"; }

say "no image is built: the steps of deploy/docker/Dockerfile are taken in $folder"
rm -rf "$folder/source" "$place" "$data"
mkdir -p "$folder/source" "$data"

say "the first stage: what .dockerignore lets in is copied, and installed into a venv"
(
    cd "$root"
    sed -n 's/^!//p' .dockerignore | xargs git ls-files -z --cached --others --exclude-standard -- |
        xargs -0 cp --parents --target-directory "$folder/source"
)
"${PYTHON:-python3}" -m venv "$place"
"$place/bin/pip" install --quiet --no-cache-dir --disable-pip-version-check "$folder/source"
"$place/bin/pip" uninstall --quiet --yes pip
"$place/bin/python" -m compileall -q "$place/lib"
say "the venv takes $(du -sh "$place" | cut -f1)"

# What the last stage says, as it says it; only the folder and the ports are others.
variables=$(sed -n 's/^ *\(ENV \)\{0,1\}\(TIDEGATE_[A-Z_]*=[^ ]*\).*/\2/p' "$dockerfile")
[ "$(printf '%s\n' "$variables" | wc -l)" -ge 2 ] || { echo "dry run: the Dockerfile has no variables" >&2; exit 1; }
check=$(sed -n 's/^ *CMD \["python", "-c", "\(.*\)"\]$/\1/p' "$dockerfile")

run="$place/bin/tidegate serve --allow-anonymous --kafka-port 0 --http-port -1"
# Both are split into words on purpose.
# shellcheck disable=SC2086
environment="env -i PATH=$place/bin:$PATH PYTHONDONTWRITEBYTECODE=1 $(printf '%s ' $variables) TIDEGATE_LOG_DIRS=$data"
if [ "$(id -u)" -eq 0 ] && command -v unshare >/dev/null && command -v setpriv >/dev/null; then
    say "the last stage: as user 10001, read-only but for $data"
    chown 10001:10001 "$data"
    chmod 755 "$folder" "$place"
    if ! setpriv --reuid 10001 --regid 10001 --clear-groups "$place/bin/python" -c ''; then
        echo "dry run: user 10001 may not run this Python, as where it lies in somebody's home: name another by PYTHON" >&2
        exit 1
    fi
    inside="mount --bind $data $data && mount -o remount,bind,ro / && exec setpriv --reuid 10001 --regid 10001 --clear-groups \
        --no-new-privs --bounding-set=-all --inh-caps=-all $environment $run"
    unshare --mount sh -c "$inside" >"$folder/ready" 2>"$folder/log" &
else
    say "the last stage: as this user, for only root can be another"
    # shellcheck disable=SC2086
    $environment $run >"$folder/ready" 2>"$folder/log" &
fi
broker=$!
trap 'kill $broker 2>/dev/null || true' EXIT

tries=0
until grep -q '^tidegate ready' "$folder/ready"; do
    tries=$((tries + 1))
    if [ $tries -gt 120 ] || ! kill -0 $broker 2>/dev/null; then
        cat "$folder/log" >&2
        exit 1
    fi
    sleep 0.5
done
door=$(sed -n 's/^tidegate ready.*http=\([^ ]*\).*/\1/p' "$folder/ready" | sed 's/0\.0\.0\.0/127.0.0.1/')
"$place/bin/python" -c "$(printf '%s' "$check" | sed "s/127.0.0.1:8080/$door/")"
say "healthy by the image's own check; user $(ps -o uid= -p $broker | tr -d ' '), $(($(ps -o rss= -p $broker) / 1024)) MiB"
kill -TERM $broker
wait $broker || { echo "dry run: it did not stop cleanly" >&2; exit 1; }
trap - EXIT
[ -e "$data/.clean-shutdown" ] && say "stopped cleanly by SIGTERM"
