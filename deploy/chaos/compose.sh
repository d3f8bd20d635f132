#!/bin/sh
# Breaks one thing of deploy/compose/three-nodes.yaml, mends it, and waits until the cluster is whole again.
#   deploy/chaos/compose.sh kill SERVICE      SIGKILL, e.g. node-2 or etcd-1
#   deploy/chaos/compose.sh pause SERVICE     SIGSTOP: a machine that hangs
#   deploy/chaos/compose.sh cut SERVICE       out of the network, and into it again
#   deploy/chaos/compose.sh roll              every node stopped in order and started, as for an upgrade
# TIDEGATE_TOKEN is the token that the file was started with; SECONDS_AWAY and WAIT_S as in common.sh.
set -eu
folder=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=deploy/chaos/common.sh
. "$folder/common.sh"

PROJECT=${PROJECT:-tidegate}
NODES="node-1 node-2 node-3"
DOORS=${DOORS:-"127.0.0.1:18080 127.0.0.1:28080 127.0.0.1:38080"}
: "${TIDEGATE_TOKEN:?the token that the nodes were started with}"

container() {
    project="label=com.docker.compose.project=$PROJECT"
    found=$(docker ps --all --quiet --filter "$project" --filter "label=com.docker.compose.service=$1")
    [ -n "$found" ] || refuse "there is no service $1 in the project $PROJECT"
    printf '%s' "$found"
}

# The first door that answers; one may be away.
ask() {
    for door in $DOORS; do
        curl --silent --fail --max-time 3 -H "Authorization: Bearer $TIDEGATE_TOKEN" "http://$door/cluster" && return
    done
    return 1
}

action=${1:-}
[ "$action" = roll ] || [ $# -eq 2 ] || refuse "what to break? kill, pause or cut, and a service; or roll"
case $action in
kill)
    # The restart policy does not start again what was killed by hand.
    target=$(container "$2")
    say "kill $2"
    docker kill --signal KILL "$target" >/dev/null
    sleep "$SECONDS_AWAY"
    docker start "$target" >/dev/null
    ;;
pause)
    target=$(container "$2")
    say "pause $2 for $SECONDS_AWAY s"
    docker pause "$target" >/dev/null
    sleep "$SECONDS_AWAY"
    docker unpause "$target" >/dev/null
    ;;
cut)
    target=$(container "$2")
    say "cut $2 off for $SECONDS_AWAY s"
    docker network disconnect "${PROJECT}_default" "$target"
    sleep "$SECONDS_AWAY"
    # Services find each other by these names.
    docker network connect --alias "$2" "${PROJECT}_default" "$target"
    ;;
roll)
    for node in $NODES; do
        say "restart $node"
        docker restart --time 30 "$(container "$node")" >/dev/null
        wait_until_whole ask
    done
    ;;
*)
    refuse "$action is not one of kill, pause, cut, roll"
    ;;
esac
wait_until_whole ask
