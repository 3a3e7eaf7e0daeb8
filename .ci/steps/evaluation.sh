# The page of an evaluation in a real browser.
#
# `PAGE_PICTURES=FOLDER bash .ci/run evaluation_page` keeps the pictures, which are to be looked at after a change.

evaluation_page() {
    local folder=$work/page
    mkdir "$folder"
    install_debian chromium chromium node nodejs npm npm
    (cd "$folder" && retry npm install --silent --no-audit --no-fund --no-save puppeteer-core@24.43.1 axe-core@4.14.1 >/dev/null)
    "$binary" eval cascade fixtures/traces/demo.jsonl --config fixtures/demo.toml --profile demo --mode all \
        --out "$folder/report" >"$folder/report.md"
    expect "$folder/report.md" '^# Evaluation of `demo.jsonl`' '^\| cascade \| 50 '
    node .ci/page.js "$folder" "$(command -v chromium)" "$folder/report/report.html" "$folder/report/report.json"
    [[ -z ${PAGE_PICTURES:-} ]] || cp "$folder"/*.png "$folder/page.pdf" "$PAGE_PICTURES/"
}
