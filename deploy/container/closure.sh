#!/usr/bin/env bash
# Fills a new folder with the root of an image from scratch: the binary, its loader and libraries, what they read.
#
#   bash deploy/container/closure.sh BINARY FOLDER
#
# Libraries keep the places where this system's loader finds them, and the image gets that loader. No certificates are
# copied: the binary carries its own roots, and others are mounted (`roots = PATH` of a judge).
set -euo pipefail

# The first glibc that resolves names without loading further libraries, which ldd could not show.
least_glibc=2.34

fail() {
    printf 'closure: %s\n' "$*" >&2
    exit 1
}

main() {
    (($# == 2)) || fail "usage: closure.sh BINARY FOLDER"
    local binary=$1 root=$2 license
    [[ -f $binary ]] || fail "\`$binary\` is not a file"
    [[ ! -e $root ]] || fail "\`$root\` is there already"
    check_glibc
    license=$(dirname "${BASH_SOURCE[0]}")/../../LICENSE
    install -D -m 755 "$binary" "$root/usr/local/bin/judge-cascade"
    install -D -m 644 "$license" "$root/usr/share/licenses/judge-cascade/LICENSE"
    copy_libraries "$binary" "$root"
    # Names stand in the /etc/hosts that the engine writes, or are asked for; without this line the order is up to glibc.
    install -d "$root/etc"
    echo 'hosts: files dns' >"$root/etc/nsswitch.conf"
}

check_glibc() {
    local version
    version=$(getconf GNU_LIBC_VERSION 2>/dev/null) || fail "this system has no glibc"
    version=${version#glibc }
    printf '%s\n' "$least_glibc" "$version" | sort --check --version-sort 2>/dev/null ||
        fail "glibc \`$version\` is older than $least_glibc"
}

copy_libraries() {
    local binary=$1 root=$2 libraries library
    libraries=$(ldd "$binary") || fail "\`$binary\` has no libraries: copy it alone"
    [[ $libraries != *'not found'* ]] || fail "a library is missing: $libraries"
    # `NAME => PATH (ADDRESS)` is a library, `PATH (ADDRESS)` the loader; the kernel's own has no path.
    while read -r library; do
        install -D -m 755 "$library" "$root$library"
    done < <(sed -nE 's|^\s*(.* => )?(/[^ ]+) \(0x.*|\2|p' <<<"$libraries")
}

main "$@"
