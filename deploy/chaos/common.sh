# shellcheck shell=sh
# What the scripts beside this one share; they source it.

WAIT_S=${WAIT_S:-120}
SECONDS_AWAY=${SECONDS_AWAY:-20}

say() {
    printf 'chaos: %s\n' "$*"
}

refuse() {
    printf 'chaos: %s\n' "$*" >&2
    exit 2
}

# Waits until the command "$@", which prints what /cluster answers, tells that no partition lacks anything.
wait_until_whole() {
    began=$(date +%s)
    until "$@" 2>/dev/null | grep -q '"leaderless":0,"under_min_isr":0,"under_replicated":0'; do
        if [ $(($(date +%s) - began)) -ge "$WAIT_S" ]; then
            say "partitions still lack leaders or replicas after $WAIT_S s: see docs/operations/runbook.md" >&2
            exit 1
        fi
        sleep 1
    done
    say "whole again after $(($(date +%s) - began)) s"
}
