# The JSON Schemas that the program prints, by a validator that is not ours.

schemas() {
    "$binary" diagnose fixtures/traces/demo.jsonl >"$work/verdicts.jsonl"
    check_schema dataset good fixtures/traces/*.jsonl
    check_schema replay good fixtures/replays/*.jsonl
    check_schema verdict good "$work/verdicts.jsonl"
    tr -d '\n' <docs/embedded-bench.json >"$work/bench.jsonl"
    check_schema bench good "$work/bench.jsonl"

    local invalid=fixtures/datasets/invalid
    sed -n 2p "$invalid/unknown-field.jsonl" >"$work/bad-traces.jsonl"
    sed -n 2p "$invalid/missing-field.jsonl" >>"$work/bad-traces.jsonl"
    sed -n 2p "$invalid/wrong-type.jsonl" >>"$work/bad-traces.jsonl"
    sed -n 2p "$invalid/unknown-diagnosis.jsonl" >>"$work/bad-traces.jsonl"
    check_schema dataset bad "$work/bad-traces.jsonl"

    local row
    row=$(sed -n 1p fixtures/replays/demo-atomic.jsonl)
    sed 's/"judge_id"/"judge"/' <<<"$row" >"$work/bad-replays.jsonl"
    sed -E 's/"groundedness":[0-9.]+/"groundedness":1.2/' <<<"$row" >>"$work/bad-replays.jsonl"
    sed -E 's/"groundedness":[0-9.]+/"groundedness":null/' <<<"$row" >>"$work/bad-replays.jsonl"
    check_schema replay bad "$work/bad-replays.jsonl"
}

# check_schema NAME good|bad FILE...
check_schema() {
    "$venv/bin/python" .ci/schemas.py "$binary" "$@"
}
