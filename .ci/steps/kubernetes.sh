# The manifests of deploy/kubernetes: rendered, validated and run.

kubernetes() {
    command -v kubectl >/dev/null || fail "kubectl is needed, for \`kubectl kustomize\`"
    unshare -mn true || fail "a mount and a network namespace are needed, to run a container as it is in its Pod"
    install_debian ip iproute2 openssl openssl
    install_prometheus
    mkdir "$work/kubernetes"
    # Clients that are refused, as they must be, say so at length otherwise.
    GRPC_VERBOSITY=NONE unshare -mn "$venv/bin/python" -B .ci/kubernetes.py "$binary" "$prometheus" "$work/kubernetes"
}
