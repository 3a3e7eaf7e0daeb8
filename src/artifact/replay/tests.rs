//! Rows are strict, and are written back as they were read.
use super::recorded::read;

const ROW: &str = r#"{"trace_id":"t1","judge_id":"j","decision":{"id":"d","version":"1","variant":"without_reference"},"answers":{"groundedness":0.9},"latency_ms":5}"#;

#[track_caller]
fn check(from: &str, to: &str, expected: &str) {
    assert!(ROW.contains(from), "{from}");
    let error = read("r.jsonl", &ROW.replace(from, to), &"j".into())
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("r.jsonl:1: ") && error.contains(expected),
        "{error}"
    );
}

#[test]
fn a_row_is_read_and_written_back_the_same() {
    let rows = read("r.jsonl", ROW, &"j".into()).unwrap();
    let row = rows.row(&"t1".into()).unwrap().unwrap();
    assert_eq!(serde_json::to_string(&row).unwrap(), ROW);
}

#[test]
fn a_value_that_is_not_allowed_is_named_by_its_line() {
    check("0.9", "1.2", "`1.2` is not a probability");
    check("0.9", "null", "invalid type: null");
    check(
        "\"groundedness\"",
        "\"helpfulness\"",
        "unknown field `helpfulness`",
    );
    check("\"t1\"", "\"\"", "trace_id: must not be empty");
    check(
        "{\"groundedness\":0.9}",
        r#"{"chunk_relevance":{"c":0.1,"c":0.2}}"#,
        "chunk `c` is answered twice",
    );
    let both = r#"{"groundedness":0.9,"verdict":{"diagnosis":"PASS"}}"#;
    check("{\"groundedness\":0.9}", both, "in place of probabilities");
    check(
        "{\"groundedness\":0.9}",
        r#"{"verdict":{"diagnosis":"NOT_ASSESSABLE"}}"#,
        "NOT_ASSESSABLE",
    );
    check(
        "\"latency_ms\"",
        "\"input_sha256\":\"abc\",\"latency_ms\"",
        "64 lower-case hexadecimal digits",
    );
}

#[test]
fn a_detail_is_about_an_answer_or_tells_why_there_is_none() {
    let with = |details: &str| {
        let answers = r#"{"groundedness":0.9}"#;
        ROW.replace(answers, &format!("{answers},\"details\":{details}"))
    };
    let row = with(
        r#"{"chunk_relevance":{"c1":{"failed":"too_long"}},"groundedness":{"source":"logprob","seen_fraction":0.25,"label_mass":0.875,"basis":"heuristic","vetoes_pass":true,"guards":["injection_signal"]}}"#,
    );
    let rows = read("r.jsonl", &row, &"j".into()).unwrap();
    let read_again = rows.row(&"t1".into()).unwrap().unwrap();
    assert_eq!(serde_json::to_string(&read_again).unwrap(), row);
    for (details, expected) in [
        (
            r#"{"correctness":{"vetoes_pass":true}}"#,
            "details.correctness: the question has no answer",
        ),
        (
            r#"{"chunk_relevance":{"c":{}}}"#,
            "details.chunk_relevance.c: the question has no answer",
        ),
        (
            r#"{"groundedness":{"failed":"too_long"}}"#,
            "`failed` stands in place of an answer",
        ),
        (
            r#"{"correctness":{"failed":"too_long","seen_fraction":0.5}}"#,
            "`failed` stands alone",
        ),
        (
            r#"{"groundedness":{"seen_fraction":0}}"#,
            "`0` is not a share",
        ),
        (
            r#"{"groundedness":{"seen_fraction":1.5}}"#,
            "`1.5` is not a share",
        ),
        (r#"{"groundedness":{"share":1}}"#, "unknown field `share`"),
        (r#"{"groundedness":null}"#, "invalid type: null"),
        (
            r#"{"chunk_relevance":{"c":{"failed":"too_long"},"c":{"failed":"too_long"}}}"#,
            "answered twice",
        ),
    ] {
        let error = read("r.jsonl", &with(details), &"j".into())
            .unwrap_err()
            .to_string();
        assert!(error.contains(expected), "{details}: {error}");
    }
}
