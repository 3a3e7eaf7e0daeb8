# What the steps of .ci/run share; sourced by it.
#
# A step is a function. Its files go to $work, which is removed at the end; a process that it starts is put into $started
# and ended by its id.

# Sets prometheus and promtool. Unpacks Debian's package instead of installing it, so that no service is started.
install_prometheus() {
    [[ -z ${promtool:-} ]] || return 0
    prometheus=$(command -v prometheus || true)
    promtool=$(command -v promtool || true)
    [[ -z $prometheus || -z $promtool ]] || return 0
    apt_update
    mkdir "$work/debian"
    (cd "$work/debian" && retry apt-get download -qq prometheus)
    dpkg -x "$work"/debian/prometheus_*.deb "$work/debian"
    prometheus=$work/debian/usr/bin/prometheus
    promtool=$work/debian/usr/bin/promtool
}

# Installs Debian's packages, but for those whose command is there: pairs of a command and its package.
install_debian() {
    local missing=()
    while (($# > 0)); do
        command -v "$1" >/dev/null || missing+=("$2")
        shift 2
    done
    ((${#missing[@]} > 0)) || return 0
    apt_update
    retry env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >"$work/apt.log"
}

apt_update() {
    [[ -z ${apt_is_fresh:-} ]] || return 0
    retry apt-get update -qq
    apt_is_fresh=1
}

# Starts a stand-in of a judge with these arguments, sets judge_id and judge_url.
start_judge() {
    local tries
    : >"$work/judge.url"
    python3 .ci/fake_judge.py "$@" >"$work/judge.url" &
    judge_id=$!
    started[$judge_id]=1
    judge_url=''
    for ((tries = 0; tries < 100; tries++)); do
        judge_url=$(<"$work/judge.url")
        [[ -z $judge_url ]] || return 0
        sleep 0.1
    done
    fail "the stand-in of a judge does not start"
}

# Ends a process that this script started.
end_process() {
    kill -TERM "$1" 2>/dev/null || true
    wait "$1" 2>/dev/null || true
    unset "started[$1]"
}

# Starts `serve` with these arguments and sets grpc and admin to its addresses.
start_sidecar() {
    : >"$work/sidecar.log"
    "$binary" serve --admin-listen 127.0.0.1:0 "$@" 2>"$work/sidecar.log" </dev/null &
    sidecar_id=$!
    started[$sidecar_id]=1
    local serving='' tries
    for ((tries = 0; tries < 300; tries++)); do
        serving=$(grep '"message":"serving"' "$work/sidecar.log") && break
        kill -0 "$sidecar_id" 2>/dev/null || fail "the sidecar ended: $(<"$work/sidecar.log")"
        sleep 0.1
    done
    [[ -n $serving ]] || fail "the sidecar does not serve: $(<"$work/sidecar.log")"
    grpc=$(sed -E 's/.*"listen":"([^"]*)".*/\1/' <<<"$serving")
    admin=$(sed -E 's/.*"admin":"([^"]*)".*/\1/' <<<"$serving")
}

# Ends the sidecar as a container engine does.
stop_sidecar() {
    kill -TERM "$sidecar_id"
    local code=0
    wait "$sidecar_id" || code=$?
    unset "started[$sidecar_id]"
    ((code == 0)) || fail "the sidecar ended with $code: $(tail -n 20 "$work/sidecar.log")"
    echo "the sidecar drained and ended with 0"
}

# Fails unless each pattern matches a line of the file.
expect() {
    local file=$1 pattern
    shift
    for pattern in "$@"; do
        grep -qE -- "$pattern" "$file" || fail "no line matches \`$pattern\`: $(tail -n 20 "$file")"
    done
}

retry() {
    local tries
    for tries in 1 2 3; do
        "$@" && return
        echo "try $tries of \`$*\` failed"
        sleep $((tries * 5))
    done
    fail "\`$*\` failed three times"
}

fail() {
    printf 'CI: %s\n' "$*" >&2
    exit 1
}

cleanup() {
    local code=$? id
    for id in "${!started[@]}"; do
        kill -KILL -- "$id" 2>/dev/null || true
    done
    rm -rf "$work"
    if ((code != 0)); then
        printf '\nCI FAILED after %s s\n' "$SECONDS" >&2
    fi
    exit "$code"
}
