#!/bin/sh
# Load for an installation that runs, through its gRPC door: batches by call and by stream, then readers to the end.
#   go install github.com/bojand/ghz/cmd/ghz@latest
#   sh deploy/load/ghz.sh
#   ADDRESS=broker.example.org:9095 CA=ca.pem TOKEN=... CALLS=10000 sh deploy/load/ghz.sh
# ADDRESS  a node's gRPC door; 127.0.0.1:9095    CA     who vouches for it, PEM; without, it is called in clear
# TOPIC    ghz-load; it must be there            TOKEN  its grpc.token, or BASIC the base64 of NAME:PASSWORD
# CALLS    with a batch each, 1000               BATCH  records in each, 100
# SIZE     bytes of each value, 100              CLIENTS  at a time, 10
# Each part ends with ghz's own summary; one whose calls do not all end with OK ends this with status 1.
set -eu
ADDRESS=${ADDRESS:-127.0.0.1:9095} TOPIC=${TOPIC:-ghz-load} CALLS=${CALLS:-1000}
BATCH=${BATCH:-100} SIZE=${SIZE:-100} CLIENTS=${CLIENTS:-10}
PER_STREAM=10

value=$(head -c "$SIZE" /dev/zero | tr '\0' x | base64 | tr -d '\n')
records=$(yes "{\"value\":\"$value\"}" | head -n "$BATCH" | paste -sd, -)
request="{\"topic\":\"$TOPIC\",\"records\":[$records]}"
stream="[$(yes "$request" | head -n "$PER_STREAM" | paste -sd, -)]"
read="{\"topic\":\"$TOPIC\",\"untilEnd\":true}"
data=$(mktemp)
trap 'rm -f "$data"' EXIT

load() { # method, calls, what is sent
    printf '%s' "$3" >"$data"
    set -- "$1" "$2" --call "tidegate.v1.$1" --total "$2" --concurrency "$CLIENTS" --data-file "$data"
    if [ -n "${CA:-}" ]; then set -- "$@" --cacert "$CA"; else set -- "$@" --insecure; fi
    if [ -n "${TOKEN:-}" ]; then set -- "$@" --metadata "{\"authorization\":\"Bearer $TOKEN\"}"; fi
    if [ -n "${BASIC:-}" ]; then set -- "$@" --metadata "{\"authorization\":\"Basic $BASIC\"}"; fi
    method=$1 calls=$2
    shift 2
    echo "== $method: $calls calls, $CLIENTS at a time"
    told=$(ghz "$@" "$ADDRESS")
    echo "$told"
    echo "$told" | grep -q "\[OK\] *$calls responses" || { echo "not all of them ended with OK" >&2; exit 1; }
}

load Produce.Send "$CALLS" "$request"
load Produce.SendStream "$((CALLS / PER_STREAM > CLIENTS ? CALLS / PER_STREAM : CLIENTS))" "$stream"
load Consume.Read "$CLIENTS" "$read"
