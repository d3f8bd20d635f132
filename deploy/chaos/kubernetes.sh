#!/bin/sh
# Breaks one thing of an installed chart, mends it, and waits until the cluster is whole again.
#   deploy/chaos/kubernetes.sh kill POD            the pod goes without a grace period, as when its machine dies
#   deploy/chaos/kubernetes.sh cut POD             nobody reaches it, nor it anybody, by a NetworkPolicy
#   deploy/chaos/kubernetes.sh roll STATEFULSET    every pod replaced in order, as an upgrade does it
# POD is a broker's or an etcd's, such as shop-tidegate-1 or shop-tidegate-etcd-0. NAMESPACE is that of the release
# (default: that of kubectl's context); SECONDS_AWAY and WAIT_S as in common.sh. `cut` needs a network plugin that
# enforces policies, and some let connections live that are open already.
set -eu
folder=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=deploy/chaos/common.sh
. "$folder/common.sh"

# A broker's own door tells whether all is well: it is asked inside of the pod, where its token is.
ASK='import os, urllib.request as r
q = r.Request("http://127.0.0.1:8080/cluster", headers={"Authorization": "Bearer " + os.environ["TIDEGATE_HTTP_TOKEN"]})
print(r.urlopen(q, timeout=3).read().decode())'

kube() {
    kubectl ${NAMESPACE:+--namespace "$NAMESPACE"} "$@"
}

release_of() {
    kube get "$1" --output 'jsonpath={.metadata.labels.app\.kubernetes\.io/instance}'
}

# Any broker of the release that answers.
ask() {
    brokers="app.kubernetes.io/instance=$release,app.kubernetes.io/component=broker"
    for pod in $(kube get pods --selector "$brokers" --output name); do
        kube exec "$pod" --container tidegate -- python -c "$ASK" && return
    done
    return 1
}

# Selects the one pod, which has its name as a label from its StatefulSet, and allows nothing.
policy() {
    cat <<EOF
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: tidegate-chaos-$1
spec:
  podSelector:
    matchLabels:
      statefulset.kubernetes.io/pod-name: $1
  policyTypes: [Ingress, Egress]
EOF
}

[ $# -eq 2 ] || refuse "what to break? kill POD, cut POD, or roll STATEFULSET"
case $1 in
kill)
    release=$(release_of "pod/$2")
    say "kill $2"
    kube delete pod "$2" --grace-period=0 --force
    # The others notice within seconds; before that all would look well.
    sleep "$SECONDS_AWAY"
    ;;
cut)
    release=$(release_of "pod/$2")
    say "cut $2 off for $SECONDS_AWAY s"
    trap 'kube delete networkpolicy "tidegate-chaos-$2" --ignore-not-found' EXIT
    policy "$2" | kube apply --filename -
    sleep "$SECONDS_AWAY"
    kube delete networkpolicy "tidegate-chaos-$2" --ignore-not-found
    trap - EXIT
    ;;
roll)
    release=$(release_of "statefulset/$2")
    say "replace every pod of $2"
    kube rollout restart "statefulset/$2"
    kube rollout status "statefulset/$2" --timeout="$((WAIT_S * 10))s"
    ;;
*)
    refuse "$1 is not one of kill, cut, roll"
    ;;
esac
wait_until_whole ask
