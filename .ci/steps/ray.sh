# Evaluations over Ray. Run alone: `bash .ci/run ray`; it is not in `all`, because Ray takes minutes to install.

# A worker is killed in the middle of a shard; the reports are those of one machine.
ray() {
    python3 -m venv "$work/ray"
    "$work/ray/bin/pip" install --quiet --disable-pip-version-check --retries 5 -r clients/ray/requirements.txt
    "$work/ray/bin/python" clients/ray/check_killed_worker.py --binary "$(realpath "$binary")" | tee "$work/ray.out"
    expect "$work/ray.out" '^worker [0-9]+ was killed; .* are the same, byte for byte'
}
