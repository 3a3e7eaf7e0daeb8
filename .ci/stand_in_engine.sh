# Stands in for podman and docker where the guide of the images is checked: `stand_in_engine.sh ROOT IMAGE ARGUMENTS`.
#
# What would serve has its configuration checked in ROOT with the variables of the command; of other commands of
# judge-cascade the flags are checked. Options are written as `--name=value`, so that the first other word is the image.
set -euo pipefail

root=$1
image=$2
kind=$3
shift 3

variables=()
while [[ ${1:-} == -* ]]; do
    case $1 in
        --env=*) variables+=("${1#--env=}") ;;
        --detach | --read-only | --internal | --*=*) ;;
        *) echo "\`$1\` is no option that the guide uses" >&2; exit 2 ;;
    esac
    shift
done
name=${1:-}
(($# == 0)) || shift

in_image() {
    env -i PATH="$PATH" "${variables[@]}" chroot --userspec=65532:65532 --groups= "$root" /usr/local/bin/judge-cascade "$@"
}

case $kind:$name in
    pod:* | network:* | run:YOUR-APPLICATION) ;;
    run:"$image")
        (($# == 0)) || { echo "the guide gives no flags to \`serve\`" >&2; exit 2; }
        answer=$(in_image config check)
        echo "serve with ${variables[*]:-no variables}: $answer"
        ;;
    exec:*)
        [[ $1 == /usr/local/bin/judge-cascade ]] || { echo "the image has no \`$1\`" >&2; exit 2; }
        shift
        in_image "$@" --help >/dev/null
        echo "judge-cascade $*: known"
        ;;
    *) echo "\`$kind\` of \`$name\` is no command that the guide uses" >&2; exit 2 ;;
esac
