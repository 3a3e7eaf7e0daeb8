# The service of deploy/systemd: the unit is verified and scored, and its command is run.

# The highest exposure of the unit that is good enough, in tenths.
max_exposure=25

systemd() {
    install_debian systemd-analyze systemd strace strace ip iproute2 openssl openssl
    local folder=$work/systemd
    local unit=$folder/judge-cascade.service
    mkdir -p "$unit.d" "$folder/run"
    # There is no program of that path here.
    sed "s|/usr/local/bin/judge-cascade|$(realpath "$binary")|" deploy/systemd/judge-cascade.service >"$unit"
    cp deploy/systemd/credentials/*.conf "$unit.d"
    verify_unit "$unit" || fail "systemd-analyze verify: $(<"$folder/verify.out")"
    systemd-analyze security --offline=true --threshold="$max_exposure" --no-pager "$unit" >"$folder/security.out" ||
        fail "the unit is too exposed: $(grep -v '✓' "$folder/security.out")"
    tail -n 1 "$folder/security.out"
    unshare -n "$venv/bin/python" -B .ci/systemd.py "$binary" "$folder/run"

    # These checks notice what is wrong.
    sed -i 's/^MemoryMax=/MemoryMaximum=/' "$unit"
    ! verify_unit "$unit" || fail "a setting that does not exist is not noticed"
    sed -i '/^Protect/d; /^SystemCall/d' "$unit"
    ! systemd-analyze security --offline=true --threshold="$max_exposure" --no-pager "$unit" &>"$folder/security.out" ||
        fail "a unit without its protection is not noticed"
}

# Whether there is no complaint: most of them leave the exit code 0.
verify_unit() {
    systemd-analyze verify --man=no "$1" >"$work/systemd/verify.out" 2>&1 && [[ ! -s $work/systemd/verify.out ]]
}
