# The images: both are linted, what the one from source copies is checked, the one from scratch is built and run.
#
# Base images are not fetched. buildah needs no daemon: it keeps images and containers in $work, and runs a container in
# a chroot with the network of this machine.

container() {
    install_debian buildah buildah openssl openssl pgrep procps
    mkdir -p "$work/container/tmp" "$work/container/etc"
    buildah=(
        env TMPDIR="$work/container/tmp"
        buildah --root "$work/container/storage" --runroot "$work/container/runroot" --storage-driver vfs
    )
    lint_images
    check_build_context
    build_scratch_image
    start_tls_judge
    start_container
    check_confinement
    check_health
    diagnose_over_tls
    drain_container
    documented_runs
}

lint_images() {
    "$venv/bin/hadolint" --failure-threshold style deploy/Dockerfile deploy/Containerfile.scratch
    local part='/^# From here on/,$ { /^# From here on/d; p }'
    diff <(sed -n "$part" deploy/Dockerfile) <(sed -n "$part" deploy/Containerfile.scratch) || fail "the images differ"
    expect deploy/Dockerfile "image\.version=\"$(crate_version)\" "
    echo "hadolint: no complaint"
}

crate_version() {
    sed -nE '0,/^version = /s/^version = "(.*)"/\1/p' Cargo.toml
}

# Copies what the builder of the Dockerfile gets, as .dockerignore leaves it, and looks whether it is all that the release
# binary was compiled from.
check_build_context() {
    local id folder host root dependencies=$binary.d name count=0
    {
        echo 'FROM scratch'
        sed -nE '/^FROM .* AS builder$/,/^FROM [^ ]+$/ { /^(WORKDIR|COPY) /p }' deploy/Dockerfile
    } >"$work/container/context"
    "${buildah[@]}" build --isolation chroot --file "$work/container/context" --tag context . &>"$work/container/build.log" ||
        fail "the context: $(<"$work/container/build.log")"
    id=$("${buildah[@]}" from context)
    folder=$("${buildah[@]}" mount "$id")$(sed -nE 's/^WORKDIR //p' deploy/Dockerfile)
    host=$(rustc --version --verbose | sed -n 's/^host: //p')
    (cd "$folder" && cargo metadata --locked --filter-platform "$host" --format-version 1 >/dev/null)
    for name in .git .ci target tests; do
        [[ ! -e $folder/$name ]] || fail "the builder gets \`$name\`"
    done
    [[ -e $dependencies ]] || fail "there is no \`$dependencies\`: build the release binary first"
    root=$(pwd -P)
    while read -r name; do
        [[ -e $folder/${name#"$root"/} ]] || fail "the builder does not get \`$name\`"
        count=$((count + 1))
    done < <(sed 's/^[^:]*: //' "$dependencies" | tr ' ' '\n' | grep "^$root/" | grep -v "^$(realpath "$target")/")
    ((count > 100)) || fail "\`$dependencies\` names $count files only"
    echo "the builder gets all $count files that the binary was compiled from: $(du -sh "$folder" | cut -f1)"
    "${buildah[@]}" rm "$id" >"$work/container/build.log"
}

# Builds the image and makes a container of it; sets container_root to its files.
build_scratch_image() {
    local folder=$work/container/image revision
    revision=$(git rev-parse HEAD 2>/dev/null || echo unknown)
    bash deploy/container/closure.sh "$binary" "$folder"
    "${buildah[@]}" build --isolation chroot --format docker --file deploy/Containerfile.scratch \
        --build-arg JUDGE_CASCADE_REVISION="$revision" --tag judge-cascade "$folder" &>"$work/container/build.log" ||
        fail "the image: $(<"$work/container/build.log")"
    "${buildah[@]}" inspect --type image judge-cascade >"$work/container/image.json"
    [[ $(image_words User) == 65532:65532 ]] || fail "the user of the image is \`$(image_words User)\`"
    [[ $(image_words ExposedPorts | tr '\n' ' ') == '50051/tcp 9464/tcp ' ]] || fail "ports: $(image_words ExposedPorts)"
    [[ $(image_words Labels org.opencontainers.image.revision) == "$revision" ]] || fail "the image has another revision"
    mapfile -t container_command < <(image_words Entrypoint && image_words Cmd)
    mapfile -t container_health < <(image_words Healthcheck Test)
    [[ ${container_health[0]} == CMD ]] || fail "the check of health wants a shell"
    unset 'container_health[0]'
    "${buildah[@]}" from --add-host judge.internal:127.0.0.1 --name sidecar judge-cascade >"$work/container/build.log"
    container_root=$("${buildah[@]}" mount sidecar)
    (cd "$container_root" && find . ! -type d -printf '%10s %P\n' | sort -k 2)
    echo "image: $(du -sb --apparent-size "$folder" | cut -f1) bytes, of which the binary: $(stat -c %s "$binary")"
}

# What stands under these keys in the configuration of the image, one a line.
image_words() {
    python3 -c '
import json, sys
value = json.load(open(sys.argv[1]))["Docker"]["config"]
for key in sys.argv[2:]:
    value = value[key]
print(*([value] if isinstance(value, str) else value), sep="\n")
' "$work/container/image.json" "$@"
}

# Starts a stand-in of a judge behind TLS, whose certificate an authority of our own issued.
start_tls_judge() {
    local key=(-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2)
    (
        cd "$work/container"
        openssl req -x509 "${key[@]}" -subj '/CN=Authority of CI' -keyout ca.key -out etc/ca.pem
        openssl req -x509 "${key[@]}" -CA etc/ca.pem -CAkey ca.key -subj /CN=judge -keyout judge.key -out judge.pem \
            -addext basicConstraints=critical,CA:FALSE -addext subjectAltName=DNS:localhost,DNS:judge.internal
    ) 2>"$work/container/openssl.log" || fail "openssl: $(<"$work/container/openssl.log")"
    start_judge --certificate "$work/container/judge.pem" --key "$work/container/judge.key" --delay-ms 1000
}

# Starts the container as its image says, with a read-only root, and sets grpc, admin, container_id (what was started) and
# inner_id (the sidecar in it).
start_container() {
    local port=${judge_url##*:}
    read -r grpc admin < <(free_addresses)
    {
        printf '[server]\nlisten = "%s"\n[admin]\nlisten = "%s"\n' "$grpc" "$admin"
        printf '[time]\ndeadline_ms = 10000\natomic_timeout_ms = 5000\n'
        tls_judge localhost "https://localhost:$port" ca.pem
        tls_judge internal "https://judge.internal:$port" ca.pem
        tls_judge bundled "https://localhost:$port" bundled
    } >"$work/container/etc/config.toml"
    # What an engine makes before it shuts the root; buildah keeps a file of its own in /run.
    mkdir -p "$container_root"/{dev,proc,run,sys,etc/judge-cascade}
    touch "$container_root"/etc/{hosts,hostname,resolv.conf}
    set -m
    unshare --mount bash -euc '
        mount --bind "$0" "$0"
        mount -o remount,bind,ro "$0"
        mount -t tmpfs -o mode=755,size=1m tmpfs "$0/run"
        exec "$@"
    ' "$container_root" \
        "${buildah[@]}" run --isolation chroot --volume "$work/container/etc:/etc/judge-cascade:ro" \
        --env JUDGE_CASCADE_CONFIG=/etc/judge-cascade/config.toml sidecar -- "${container_command[@]}" \
        &>"$work/container/log" </dev/null &
    container_id=$!
    set +m
    started[-$container_id]=1
    local tries
    for ((tries = 0; tries < 300; tries++)); do
        ! grep -q '"message":"serving"' "$work/container/log" || break
        kill -0 "$container_id" 2>/dev/null || fail "the container ended: $(<"$work/container/log")"
        sleep 0.1
    done
    local id=$container_id
    while id=$(pgrep --parent "$id"); do
        inner_id=$id
    done
}

# A judge and a profile of this name: NAME URL ROOTS.
tls_judge() {
    printf '[judges.%s]\ntype = "systemone"\nbase_url = "%s"\nmodel = "stand-in-1"\nroots = "%s"\n' "$@"
    printf '[profiles.%s]\natomic = "%s"\npolicy = "systemone-example"\n' "$1" "$1"
}

# Two addresses on this machine whose ports are free.
free_addresses() {
    python3 -c '
import socket
sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
print(*("127.0.0.1:%d" % socket.getsockname()[1] for socket in sockets))
'
}

# Runs a command of the image in the running container, as this user.
inside() {
    local user=$1
    shift
    env -i PATH="$PATH" JUDGE_CASCADE_CONFIG=/etc/judge-cascade/config.toml \
        nsenter --target "$inner_id" --mount --root --setuid "$user" --setgid "$user" "$@"
}

# The sidecar is nobody in particular, may do nothing in particular, and nobody, not even root, can write to its root.
check_confinement() {
    expect "/proc/$inner_id/status" '^Uid:\s65532\s65532\s65532\s65532$' '^Gid:\s65532\s65532\s65532\s65532$' \
        '^CapPrm:\s0+$' '^CapEff:\s0+$'
    expect "/proc/$inner_id/mountinfo" '^[0-9]+ [0-9]+ [0-9:]+ [^ ]+ / ro,'
    local user code
    for user in 65532 0; do
        code=0
        inside "$user" "${container_command[0]}" init --judge openai --output /written.toml &>"$work/container/init" || code=$?
        ((code == 2)) || fail "user $user: writing ends with $code: $(<"$work/container/init")"
        expect "$work/container/init" 'Read-only file system'
    done
    echo "user 65532, no capabilities, read-only root: $(<"$work/container/init")"
}

# As the engine does it, then over gRPC.
check_health() {
    inside 65532 "${container_health[@]}"
    inside 65532 "${container_command[0]}" healthcheck
    [[ $(curl -fsS "http://$admin/readyz") == ready ]] || fail "the admin port is not ready"
}

# From outside: judges whose certificate is trusted by a mounted file, by two names, and one that is not trusted.
diagnose_over_tls() {
    local profile rows=$work/container/rows
    for profile in localhost internal; do
        head -n 2 fixtures/traces/demo.jsonl | "$binary" diagnose - --endpoint "http://$grpc" --profile "$profile" >"$rows"
        [[ $(grep -c '"diagnosis":"PASS","route":"auto"' "$rows") == 2 ]] || fail "profile $profile: $(<"$rows")"
    done
    head -n 1 fixtures/traces/demo.jsonl | "$binary" diagnose - --endpoint "http://$grpc" --profile bundled >"$rows"
    expect "$rows" '"diagnosis":"JUDGE_UNCERTAIN"' \
        '"failure_reason":"unavailable","failure_detail":"the certificate is from an unknown issuer"'
    echo "verdicts over TLS with the mounted authority; none with the bundled ones"
}

# The signal comes while a call waits for its judge; the call is answered, and the container ends with 0.
drain_container() {
    head -n 1 fixtures/traces/demo.jsonl | "$binary" diagnose - --endpoint "http://$grpc" --profile localhost \
        >"$work/container/last" &
    local client_id=$! tries code=0
    started[$client_id]=1
    for ((tries = 0; tries < 100; tries++)); do
        curl -fsS "http://$admin/metrics" >"$work/container/metrics"
        ! grep -q '^judge_cascade_inflight_traces 1$' "$work/container/metrics" || break
        sleep 0.02
    done
    ((tries < 100)) || fail "the call was never in flight"
    kill -TERM "$inner_id"
    wait "$client_id" || fail "the call in flight was not answered"
    unset "started[$client_id]"
    expect "$work/container/last" '"diagnosis":"PASS"'
    wait "$container_id" || code=$?
    unset "started[-$container_id]"
    ((code == 0)) || fail "the container ended with $code: $(tail -n 20 "$work/container/log")"
    end_process "$judge_id"
    echo "the container answered its last call and ended with 0"
}

# Runs the commands of the guide with a stand-in for the engines, which checks the configuration that they give inside the
# files of the image, as its user.
documented_runs() {
    local guide=deploy/container/README.md folder=$work/container/guide block name ran=0
    local files=$container_root/etc/judge-cascade
    mkdir -p "$folder/bin"
    install -d -o 65532 -g 65532 "$container_root"/{run,var/lib}/judge-cascade
    awk -v blocks="$folder" -v files="$files" '
        /^```/ && inside { inside = 0; close(file); next }
        /^```/ {
            inside = 1
            file = $1 == "```toml" ? files "/" $2 : sprintf("%s/%02d.%s", blocks, ++count, $2 == "" ? "run" : $2)
            next
        }
        inside { print > file }
    ' "$guide"
    echo secret >"$files/key"
    cp "$work/container/etc/ca.pem" "$files/judge-ca.pem"
    cp "$work/container/etc/ca.pem" "$files/ca.crt"
    cp "$work/container/judge.pem" "$files/tls.crt"
    install -m 400 -o 65532 -g 65532 "$work/container/judge.key" "$files/tls.key"
    printf '#!/usr/bin/env bash\nexec bash "%s" "%s" judge-cascade:%s "$@"\n' "$PWD/.ci/stand_in_engine.sh" \
        "$container_root" "$(crate_version)" >"$folder/bin/podman"
    chmod +x "$folder/bin/podman"
    ln -s podman "$folder/bin/docker"
    for block in "$folder"/*.run; do
        PATH=$folder/bin:$PATH bash -euo pipefail "$block" >"$folder/out" || fail "$guide: $(<"$block")"
        cat "$folder/out"
        ran=$((ran + $(wc -l <"$folder/out")))
    done
    ((ran >= 7)) || fail "$guide: only $ran commands were checked"
    for name in $(grep -ohE '(deploy|\.\.)/[A-Za-z./]*[a-z]' "$guide" | sed 's|^\.\./|deploy/|'); do
        [[ -e $name ]] || fail "$guide: there is no \`$name\`"
    done
}
