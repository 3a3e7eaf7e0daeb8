# The dashboards: their files, their queries on a real Prometheus under load, and a picture of the overview.
#
# `LOAD_SECONDS=600 OVERVIEW_PICTURE=docs/overview.png bash .ci/run python_packages grafana` makes the picture of the
# README; CI runs the load for a glance and looks only whether a picture came out.

load_seconds=${LOAD_SECONDS:-45}

grafana() {
    "$venv/bin/mypy" --strict --cache-dir "$work/mypy" deploy/grafana/dashboards.py
    "$venv/bin/python" .ci/dashboards.py files
    install_prometheus
    install_debian chromium chromium
    start_load_target
    start_scraper
    "$venv/bin/python" .ci/load.py --binary "$binary" --grpc "$grpc" --http "$http" --seconds "$load_seconds"
    local asked=(
        --prometheus "$scraper_url" --job judge-cascade --pod rag-0 --interval "$rate_interval"
        --range "$((load_seconds - 10))" --end "$(date +%s)"
    )
    "$venv/bin/python" .ci/dashboards.py queries "${asked[@]}"
    picture_of_overview "${asked[@]}"
    end_process "$scraper_id"
    stop_sidecar
    local id
    for id in "${load_judges[@]}"; do
        end_process "$id"
    done
}

# The judges of fixtures/load.toml and a sidecar that asks them; sets http beside what start_sidecar sets.
start_load_target() {
    load_judges=()
    start_judge --model stand-in-fast --delay-ms 25 --varied
    local fast=$judge_url
    load_judges+=("$judge_id")
    start_judge --model stand-in-busy --delay-ms 40 --varied --busy-every 12
    local busy=$judge_url
    load_judges+=("$judge_id")
    start_judge --model stand-in-strong-2026-11 --sure --delay-ms 150 --varied --output-tokens 90 --down-word outage
    load_judges+=("$judge_id")
    JUDGE_CASCADE__JUDGES__FAST__BASE_URL=$fast \
        JUDGE_CASCADE__JUDGES__BUSY__BASE_URL=$busy \
        JUDGE_CASCADE__JUDGES__STRONG__BASE_URL=$judge_url \
        start_sidecar --config fixtures/load.toml --listen 127.0.0.1:0 --http-listen 127.0.0.1:0
    http=$(grep '"message":"serving"' "$work/sidecar.log" | sed -E 's/.*"http":"([^"]*)".*/\1/')
}

# A Prometheus with our rules that scrapes the sidecar twice: as a target with the label `pod`, and as one without it. Sets
# scraper_url and rate_interval, which stands for $__rate_interval.
start_scraper() {
    local folder=$work/scraper rules='' file port tries
    local scrape_seconds=$((load_seconds < 120 ? 1 : 2))
    rate_interval=$((scrape_seconds == 1 ? 10 : 40))s
    mkdir "$folder"
    for file in deploy/prometheus/{thresholds,recording,alerts}.yaml; do
        [[ ! -e $file ]] || rules+="  - $PWD/$file"$'\n'
    done
    cat >"$folder/prometheus.yml" <<END
global:
  scrape_interval: ${scrape_seconds}s
  evaluation_interval: ${scrape_seconds}s
${rules:+rule_files:
$rules}
scrape_configs:
  - job_name: judge-cascade
    static_configs:
      - targets: ["$admin"]
        labels: {pod: rag-0}
  - job_name: without-pod
    static_configs:
      - targets: ["$admin"]
END
    port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    scraper_url=http://127.0.0.1:$port
    "$prometheus" --config.file "$folder/prometheus.yml" --storage.tsdb.path "$folder/data" \
        --web.listen-address "127.0.0.1:$port" --log.level warn 2>"$folder/log" &
    scraper_id=$!
    started[$scraper_id]=1
    for ((tries = 0; tries < 100; tries++)); do
        ! curl -fsS "$scraper_url/-/ready" >/dev/null 2>&1 || return 0
        kill -0 "$scraper_id" 2>/dev/null || break
        sleep 0.1
    done
    fail "Prometheus does not start: $(<"$folder/log")"
}

# Draws the overview from its own queries; needs npm for the library that draws.
picture_of_overview() {
    local folder=$work/picture
    mkdir "$folder"
    (cd "$folder" && retry npm install --silent --no-audit --no-fund --no-save echarts@6.1.0 >/dev/null)
    "$venv/bin/python" .ci/picture.py "$@" --folder "$folder" --chromium "$(command -v chromium)" --out "$folder/overview.png"
    [[ -z ${OVERVIEW_PICTURE:-} ]] || cp "$folder/overview.png" "$OVERVIEW_PICTURE"
}
