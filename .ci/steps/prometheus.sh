# The metrics of a sidecar, as Prometheus sees them.

metrics() {
    install_prometheus
    start_sidecar --config fixtures/demo.toml --listen 127.0.0.1:0
    local profile verdicts
    for profile in default demo; do
        "$binary" diagnose fixtures/traces/demo.jsonl --endpoint "http://$grpc" --profile "$profile" >"$work/verdicts"
        verdicts=$(wc -l <"$work/verdicts")
        echo "profile $profile: $verdicts verdicts"
    done
    curl -fsS "http://$admin/metrics" >"$work/metrics"
    expect "$work/metrics" '^judge_cascade_diagnoses_total[{].*profile="demo"'
    "$promtool" check metrics <"$work/metrics" >"$work/promtool.out" 2>&1 || fail "promtool: $(<"$work/promtool.out")"
    [[ ! -s $work/promtool.out ]] || fail "promtool: $(<"$work/promtool.out")"
    echo "$(grep -c '^# TYPE' "$work/metrics") metrics, no complaint"
    stop_sidecar
}

# The files of deploy/prometheus by themselves: they parse, they do what their tests say, every alert is tested both ways
# and explained, and every metric and value of a label that they name is one of ours.
prometheus_rules() {
    install_prometheus
    local rules=deploy/prometheus metric label value
    "$promtool" check config "$rules/prometheus.yaml"
    "$promtool" test rules "$rules"/*_test.yaml
    awk "$alerts_are_complete" docs/runbooks.md "$rules"/*_test.yaml "$rules/alerts.yaml"
    while read -r metric; do
        grep -qE "^\| .${metric%_bucket}. \|" docs/metrics.md || fail "$rules names \`$metric\`, docs/metrics.md does not"
    done < <(named_metrics "$rules/recording.yaml" "$rules/alerts.yaml")
    while read -r label value; do
        grep -qE "^\| $label \|.*\`$value\`" docs/metrics.md || fail "$rules: docs/metrics.md knows no $label \`$value\`"
    done < <(named_values "$rules/recording.yaml" "$rules/alerts.yaml")
}

# The metrics that files of rules name; recorded ones have a colon.
named_metrics() {
    sed -E '/^ *#/d; /- name:/d' "$@" | grep -oP '(?<![:\w])judge_cascade_\w+(?![:\w])' | sort -u
}

# The labels with the values that they are compared with.
named_values() {
    sed -E '/^ *#/d' "$@" | grep -oP '\w+(=|!=|=~|!~)"[^"]+"' | sed -E 's/(=|!=|=~|!~)"/ /; s/"$//' |
        awk '{ for (i = split($2, values, "|"); i > 0; i--) print $1, values[i] }' | sort -u
}

# Reads the runbooks, the tests and the alerts, in this order.
alerts_are_complete='
    function wrong(what) { print "alerts.yaml: " alert ": " what; bad = 1 }
    function finish() {
        if (alert == "") return
        count++
        if (!has["for"]) wrong("no `for`")
        if (!has["severity"]) wrong("no known severity")
        if (!has["summary"] || !has["description"]) wrong("no summary or no description")
        if (runbook != "}}docs/runbooks.md#" tolower(alert) "\"") wrong("runbook_url is not its own section")
        if (!section[alert]) wrong("no section in docs/runbooks.md")
        if (!fires[alert]) wrong("no test in which it fires")
        if (!silent[alert]) wrong("no test in which it stays silent")
        delete section[alert]
        delete has
        runbook = ""
    }
    FILENAME ~ /runbooks.md$/ { if ($1 == "##" && $2 ~ /^JudgeCascade/) section[$2] = 1; next }
    FILENAME ~ /_test.yaml$/ {
        if ($0 ~ /- alertname:/) tested = $NF
        if ($0 ~ /exp_alerts: \[\]$/) silent[tested] = 1
        if ($0 ~ /exp_alerts:$/) fires[tested] = 1
        next
    }
    $1 == "-" && $2 == "alert:" { finish(); alert = $3 }
    $1 == "for:" { has["for"] = 1 }
    $1 == "severity:" && $2 ~ /^(critical|warning|info)$/ { has["severity"] = 1 }
    $1 == "summary:" || $1 == "description:" { has[substr($1, 1, length($1) - 1)] = 1 }
    $1 == "runbook_url:" { runbook = $NF }
    END {
        finish()
        for (left in section) { alert = left; wrong("is in docs/runbooks.md only") }
        if (count == 0) { print "there are no alerts"; bad = 1 }
        if (bad) exit 1
        print count " alerts, each tested both ways and explained"
    }'

# A sidecar, its judges and a real Prometheus with the files of deploy/prometheus: what is recorded is what was sent, and
# the loss of a judge raises an alert while the sidecar stays ready.
prometheus_end_to_end() {
    install_prometheus
    start_judges
    start_sidecar --config "$work/judges.toml" --listen 127.0.0.1:0
    write_traces
    # Traffic of the same mix comes before the first scrape: a series that only begins with its first event has no rate
    # over that event, and the cost would be too low by it.
    send_traces 1
    "$binary" diagnose "$work/docs.traces" --endpoint "http://$grpc" --profile nobody >"$work/nobody.out" 2>&1 &&
        fail "there is no profile \`nobody\`"
    start_prometheus
    send_traces 3
    traces_are_recorded
    judge_goes_and_comes
    end_process "$prometheus_id"
    stop_sidecar
    end_process "$second_id"
    end_process "$first_id"
    end_process "$shaky_id"
}

# An atomic judge that can be unsure, one that fails every fifth time, and a fallback judge that is always sure.
start_judges() {
    local first shaky second
    start_judge --model first-1
    first=$judge_url first_id=$judge_id
    start_judge --model shaky-1 --busy-every 5
    shaky=$judge_url shaky_id=$judge_id
    start_judge --model second-1 --sure
    second=$judge_url second_id=$judge_id
    second_port=${second##*:}
    cat >"$work/judges.toml" <<TOML
[judges.first]
type = "systemone"
base_url = "$first"
model = "first-1"
spend = { calls_per_day = 1000000 }

[judges.shaky]
type = "systemone"
base_url = "$shaky"
model = "shaky-1"
retry = { max_attempts = 1 }

[judges.second]
type = "systemone"
base_url = "$second"
model = "second-1"
retry = { max_attempts = 1 }
breaker = { failure_count = 5, open_ms = 2000 }

[profiles.support]
atomic = "first"
fallback = "second"
policy = "systemone-example"

[profiles.docs]
atomic = "first"
fallback = "second"
policy = "systemone-example"

[profiles.alone]
atomic = "second"
policy = "systemone-example"

[profiles.rough]
atomic = "shaky"
fallback = "second"
policy = "systemone-example"

[pricing]
file = "pricing.json"
TOML
    cat >"$work/pricing.json" <<'JSON'
{"schema_version": 1, "id": "stand-ins", "as_of": "2026-10-01", "currency": "USD", "models": {
  "first-1": {"input_usd_per_million_tokens": 0.05, "output_usd_per_million_tokens": 0},
  "shaky-1": {"input_usd_per_million_tokens": 0.05, "output_usd_per_million_tokens": 0},
  "second-1": {"input_usd_per_million_tokens": 2, "output_usd_per_million_tokens": 0}}}
JSON
}

# For each profile a file of traces of which so many are unsure: 30 of 100, 10 of 100, and none of 50 (of which 10 fail).
write_traces() {
    local profile count unsure number word
    while read -r profile count unsure; do
        for ((number = 1; number <= count; number++)); do
            word=steady
            ((number > unsure)) || word=unsure
            printf '{"id":"%s-%03d","question":"%s: when does the pool open?","contexts":[{"id":"c1","text":"%s"}],"answer":"At eight."}\n' \
                "$profile" "$number" "$word" "On Sundays the pool opens at eight."
        done >"$work/$profile.traces"
    done <<'END'
support 100 30
docs 100 10
rough 50 0
END
}

# Sends every file so many times and adds the verdicts to $work/verdicts.jsonl.
send_traces() {
    local round profile
    for ((round = 0; round < $1; round++)); do
        for profile in support docs rough; do
            "$binary" diagnose "$work/$profile.traces" --endpoint "http://$grpc" --profile "$profile" \
                >>"$work/verdicts.jsonl" 2>>"$work/diagnose.err"
        done
    done
}

# Starts Prometheus with our files, of which only the target and the intervals are others, and waits for its first scrape.
start_prometheus() {
    local tries folder=$work/prometheus
    mkdir "$folder"
    cp deploy/prometheus/*.yaml "$folder"
    sed -i "s/127\.0\.0\.1:9464/$admin/; s/_interval: 15s/_interval: 1s/" "$folder/prometheus.yaml"
    expect "$folder/prometheus.yaml" "\"$admin\"" 'scrape_interval: 1s' 'evaluation_interval: 1s'
    : >"$folder/log"
    "$prometheus" --config.file="$folder/prometheus.yaml" --storage.tsdb.path="$folder/data" \
        --web.listen-address=127.0.0.1:0 2>"$folder/log" &
    prometheus_id=$!
    started[$prometheus_id]=1
    prometheus_url=''
    for ((tries = 0; tries < 300; tries++)); do
        prometheus_url=$(sed -nE 's|.*msg="Listening on" address=(.*)|http://\1|p' "$folder/log")
        [[ -z $prometheus_url ]] || break
        kill -0 "$prometheus_id" 2>/dev/null || fail "Prometheus ended: $(<"$folder/log")"
        sleep 0.1
    done
    [[ -n $prometheus_url ]] || fail "Prometheus does not listen: $(<"$folder/log")"
    wait_until 30 '[[ $(ask query "up{job=\"judge-cascade\"}") == 1 ]]' "the sidecar is not scraped"
}

ask() {
    python3 .ci/ask_prometheus.py "$prometheus_url" "$@" 2>/dev/null || echo unknown
}

# Waits at most so many seconds until an expression of bash holds.
wait_until() {
    local end=$((SECONDS + $1))
    until eval "$2"; do
        ((SECONDS < end)) || fail "$3 after $1 s"
        sleep 0.5
    done
}

# Compares what is recorded with what was sent. A rate is extrapolated to its window, but all series have samples at the
# same instants and the same share of their traffic before the first scrape, so it is by the same factor, and ratios are
# exact up to rounding.
traces_are_recorded() {
    local sent
    sent=$(wc -l <"$work/verdicts.jsonl")
    wait_until 30 '[[ $(ask query "sum(judge_cascade_diagnoses_total)") == '"$sent"' ]]' "not all traces are counted"
    sleep 3 # two evaluations
    echo "$sent traces"
    local fallback='judge_cascade_fallback:ratio_rate5m'
    is_about 0.2 "job:$fallback"
    is_about 0.3 "job_profile:$fallback{profile=\"support\"}"
    is_about 0.1 "job_profile:$fallback{profile=\"docs\"}"
    is_about 0.2 "job_profile:$fallback{profile=\"rough\"}"
    is_about 0.3 "job_profile_reason:$fallback{profile=\"support\",reason=\"uncertain\"}"
    is_about 0 "job_profile_reason:$fallback{profile=\"support\",reason=\"atomic_failed\"}"
    is_about 0.2 "job_profile_reason:$fallback{profile=\"rough\",reason=\"atomic_failed\"}"
    is_about 0 "job_profile_reason:$fallback{profile=\"rough\",reason=\"uncertain\"}"
    is_about 0.3 'job_profile_dimension:judge_cascade_uncertain:ratio_rate5m{profile="support",dimension="groundedness"}'
    is_about 0 'job:judge_cascade_failure:ratio_rate5m'
    is_about 1 'job_profile_diagnosis:judge_cascade_diagnoses:ratio_rate5m{profile="docs",diagnosis="PASS"}'
    is_about 0.2 'job_judge_role:judge_cascade_judge_failure:ratio_rate5m{judge="shaky",role="atomic"}'
    is_about 3 'job:judge_cascade_deadline_seconds:min'
    is_about "$(mean_cost)" 'job:judge_cascade_cost_usd_per_trace:rate5m'
    # What the rules select exists: each of them recorded something.
    wait_until 10 '[[ -z $(ask rules) ]]' "rules that fail or record nothing remain: $(ask rules)"
    [[ $(ask alert JudgeCascadeBreakerOpen) == inactive ]] || fail "the breaker of a judge that answers is open"
}

# The mean cost of the priced calls of a verdict row, in US dollars.
mean_cost() {
    python3 - "$work/verdicts.jsonl" <<'END'
import json, sys

rows = [json.loads(line) for line in open(sys.argv[1])]
calls = [call for row in rows for call in row["judge_calls"]]
print(sum(call.get("cost_nano_usd", 0) for call in calls) / len(rows) / 1e9)
END
}

# Whether an expression is a number up to a thousandth, which it may become for ten seconds: rules are evaluated in turns.
is_about() {
    local value tries
    for ((tries = 0; tries < 20; tries++)); do
        value=$(ask query "$2")
        awk -v value="$value" -v expected="$1" 'BEGIN {
            off = value - expected
            most = expected / 1000 + 1e-12
            exit !(value ~ /^[0-9]/ && off <= most && -off <= most)
        }' && break
        sleep 0.5
    done
    ((tries < 20)) || fail "\`$2\` is $value, not $1"
    printf '%-20s expected %-12s %s\n' "$value" "$1" "$2"
}

# Ends the fallback judge, sees the alert wait and fire with its own `for`, the sidecar stay ready and no unsure trace pass,
# and starts the judge again.
judge_goes_and_comes() {
    local state='' seen='' end code
    end_process "$second_id"
    echo "the fallback judge is gone"
    end=$((SECONDS + 120))
    until [[ $state == firing ]]; do
        ((SECONDS < end)) || fail "JudgeCascadeBreakerOpen does not fire after 120 s, it is $state"
        unsure_traces_stay_uncertain
        code=$(curl -sS -o "$work/ready" -w '%{http_code}' "http://$admin/readyz")
        [[ $code == 200 ]] || fail "/readyz says $code: $(<"$work/ready")"
        state=$(ask alert JudgeCascadeBreakerOpen judge=second job=judge-cascade severity=warning)
        [[ $seen == *"$state"* ]] || { seen+=" $state" && echo "JudgeCascadeBreakerOpen is $state after $((SECONDS - end + 120)) s, /readyz says $code"; }
        sleep 1
    done
    [[ $seen == *pending*firing ]] || fail "JudgeCascadeBreakerOpen was not pending before it fired:$seen"
    "$binary" healthcheck --endpoint "http://$grpc"
    traces_of_a_lone_judge_are_lost

    start_judge --model second-1 --sure --port "$second_port"
    second_id=$judge_id
    echo "the fallback judge is back"
    wait_until 60 'sends_unsure_trace && grep -q "\"route\":\"fallback\"" "$work/unsure.out"' "the fallback judge is not asked"
    wait_until 30 '[[ $(ask alert JudgeCascadeBreakerOpen) == inactive ]]' "JudgeCascadeBreakerOpen does not end"
    echo "JudgeCascadeBreakerOpen has ended"
}

# A profile whose only judge is gone: its traces count as failed, although no call ends in an error.
traces_of_a_lone_judge_are_lost() {
    local told
    "$binary" diagnose "$work/docs.traces" --endpoint "http://$grpc" --profile alone \
        >"$work/alone.out" 2>>"$work/diagnose.err"
    told=$(grep -c '"diagnosis":"JUDGE_UNCERTAIN".*"fallback_unavailable_reason":"not_configured"' "$work/alone.out") || true
    [[ $told == 100 ]] || fail "only $told of 100 traces stay uncertain: $(head -c 600 "$work/alone.out")"
    wait_until 30 '[[ $(ask query "job:judge_cascade_atomic_lost:rate5m > 0") == [0-9]* ]]' "no trace is told as lost"
    wait_until 10 '[[ $(ask query "job:judge_cascade_failure:ratio_rate5m > 0") == [0-9]* ]]' "no call is told as failed"
    echo "traces of a judge without a fallback judge are told as failed: $(ask query job:judge_cascade_failure:ratio_rate5m)"
}

sends_unsure_trace() {
    head -n 10 "$work/support.traces" >"$work/unsure.traces"
    "$binary" diagnose "$work/unsure.traces" --endpoint "http://$grpc" --profile support \
        >"$work/unsure.out" 2>>"$work/diagnose.err"
}

unsure_traces_stay_uncertain() {
    sends_unsure_trace
    local told
    told=$(grep -cE '"diagnosis":"JUDGE_UNCERTAIN","route":"fallback_unavailable".*"fallback_unavailable_reason":"(error|breaker)"' \
        "$work/unsure.out") || true
    [[ $told == 10 ]] || fail "only $told of 10 unsure traces stay uncertain: $(head -c 600 "$work/unsure.out")"
}
