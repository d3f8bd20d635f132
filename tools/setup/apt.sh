# Sourced by the other scripts: `apt_install PACKAGE...` installs with apt-get where that is possible (as root, or
# with sudo), asks nothing without a terminal, and returns false where it is not possible.

# Prints how to become root.
_become_root() {
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

# Reads anew which packages there are.
apt_update() {
    command -v apt-get >/dev/null 2>&1 || return 1
    root="$(_become_root)" || return 1
    $root DEBIAN_FRONTEND=noninteractive apt-get update -qq </dev/null >&2
}

apt_install() {
    apt_update || return 1
    echo "== system: installing $* with apt-get" >&2
    $root DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "$@" </dev/null >&2
}
