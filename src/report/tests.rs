//! Reports as Markdown and as a page: what they say, and that no text can change what they are.

mod quality;
mod sample;

use std::collections::BTreeMap;

use serde_json::Value;

use super::html::{self, Details};
use super::markdown;
use super::model::{Measure, Modes, Report};
use crate::stats::Absent;
use sample::EVIL;

const OPENING: &str = r#"<script type="application/json" id="data">"#;

fn plain() -> (Report, Details) {
    sample::sample(sample::rows(60), "")
}

fn page(report: &Report, details: &Details) -> String {
    html::write(report, details).unwrap()
}

/// What the script of a page reads.
fn data(page: &str) -> Value {
    let (_, rest) = page.split_once(OPENING).unwrap();
    let (data, _) = rest.split_once("</script>").unwrap();
    serde_json::from_str(data).unwrap()
}

#[track_caller]
fn says(text: &str, all: &[&str]) {
    for told in all {
        assert!(text.contains(told), "`{told}` is not there");
    }
}

#[test]
fn the_same_report_gives_the_same_bytes() {
    let (report, details) = plain();
    let (again, same) = plain();
    assert_eq!(page(&report, &details), page(&again, &same));
    assert_eq!(markdown::write(&report), markdown::write(&again));
}

#[test]
fn no_text_can_open_or_close_an_element_of_the_page() {
    let (report, details) = sample::sample(sample::rows(60), EVIL);
    let (tame, tame_details) = plain();
    let (evil, tame) = (page(&report, &details), page(&tame, &tame_details));
    for markup in ["<script", "</script", "<!--", "<bdi>", "<dd", "<td", "<li>"] {
        let count = |page: &str| page.matches(markup).count();
        assert_eq!(count(&evil), count(&tame), "{markup}");
    }
    assert!(!evil.contains("alert(1)<"));
    assert!(!evil.contains("{{ 7 * 7 }} 49"));
    says(
        &evil,
        &["&lt;script&gt;alert(1)&lt;", "{{ 7 * 7 }}", "&amp;amp;"],
    );
    assert_eq!(data(&evil)["row_count"], 60);
}

#[test]
fn the_script_and_style_of_the_page_end_where_they_should() {
    let (report, details) = plain();
    let page = page(&report, &details);
    assert_eq!(page.matches("<script").count(), 2);
    assert_eq!(page.matches("</script>").count(), 2);
    assert_eq!(page.matches("</style>").count(), 1);
    says(
        &page,
        &["default-src 'none'", "<html lang=\"en\">", "<noscript>"],
    );
    for remote in ["http://", "https://", "src=", "@import", "url("] {
        let without_names = page.replace("http://www.w3.org/2000/svg", "");
        assert!(!without_names.contains(remote), "{remote}");
    }
}

#[test]
fn no_text_can_end_a_cell_or_a_line_of_markdown() {
    let cells = |text: &str| {
        text.lines()
            .map(|line| {
                let without_escaped = line.replace("\\|", "");
                (line.starts_with('|'), without_escaped.matches('|').count())
            })
            .collect::<Vec<_>>()
    };
    let (report, _) = sample::sample(sample::rows(60), EVIL);
    let (tame, _) = plain();
    let (evil, tame) = (markdown::write(&report), markdown::write(&tame));
    assert_eq!(cells(&evil), cells(&tame));
    says(&evil, &["\\u000a<!--", "\\u2028\\u202e", "``trace-"]);
    assert!(!evil.contains('\u{202e}'));
}

#[test]
fn an_absent_number_is_its_reason_and_never_zero() {
    let (report, details) = plain();
    for text in [page(&report, &details), markdown::write(&report)] {
        says(
            &text,
            &[
                "none: no rows",
                "none: the denominator is zero",
                "none: all rows are of one class",
                "none: switched off",
                "1,000 assessable rows cost unknown",
                "baseline_only has no components: its judge gave whole diagnoses.",
            ],
        );
        let text = text.split("</main>").next().unwrap();
        for nothing in ["NaN", "null %", "undefined %", "-0.0"] {
            assert!(!text.contains(nothing), "{nothing}");
        }
    }
}

#[test]
fn the_page_says_whose_answers_are_moved() {
    let (mut report, details) = plain();
    report.modes.atomic_only = None;
    let page_of_cascade = page(&report, &details);
    assert_eq!(data(&page_of_cascade)["answers_of"], "atomic");
    says(
        &page_of_cascade,
        &[
            "Answers of the ${data.answers_of} judge alone",
            "the fallback judge alone deciding the rest",
        ],
    );
}

#[test]
fn where_nothing_was_asked_the_sentences_say_so() {
    let (mut report, details) = plain();
    let none = || Measure::of(Err(Absent::Empty));
    for mode in [&mut report.modes.cascade, &mut report.modes.baseline_only] {
        let found = mode.as_mut().unwrap();
        found.not_assessable_count = found.row_count;
        found.coverage = none();
        found.latency.all.count = 0;
        found.latency.all.p50_ms = none();
        found.cost.per_row_nano_usd = none();
    }
    for text in [page(&report, &details), markdown::write(&report)] {
        says(
            &text,
            &[
                "No row is assessable, so how much the atomic judge resolves is not known.",
                "no row asked a judge, so there is no latency; no row is assessable, so there is no cost of one.",
                "baseline_only has no components: no judge was asked.",
            ],
        );
        for wrong in ["half of 0", "resolves none", "gave whole diagnoses"] {
            assert!(!text.contains(wrong), "{wrong}");
        }
    }
    let baseline = report.modes.baseline_only.as_mut().unwrap();
    baseline.latency.all.count = 1;
    says(
        &markdown::write(&report),
        &["baseline_only has no components: no row has a usable answer."],
    );
}

/// R42: the snapshot of prices and its day stand in every report, and without one no cost is told.
#[test]
fn r42_prices_and_their_day_are_told_and_none_is_said() {
    let (mut report, details) = plain();
    for text in [page(&report, &details), markdown::write(&report)] {
        says(&text, &["demo-prices", "2026-11-01", &"ef".repeat(32)]);
    }
    report.pricing = None;
    for text in [page(&report, &details), markdown::write(&report)] {
        says(
            &text,
            &["none loaded; the cost of every judge that is not local is unknown"],
        );
    }
}

#[test]
fn everything_that_a_reader_needs_is_on_the_page_and_in_the_markdown() {
    let (report, details) = plain();
    for text in [page(&report, &details), markdown::write(&report)] {
        says(
            &text,
            &[
                "The atomic judge resolves",
                "After fallback:",
                "For comparison, the fallback judge alone",
                "trace-35",
                "rule ungrounded, groundedness 0.04 met the threshold 0.1",
                "4 more are not listed",
                "timeout 2",
                "skipped 14",
                "do not show that one is right more often, nor that both are equally good",
                "speak against the two being equally right",
                "Retrieval: right or wrong",
                "Generation: the probabilities",
                "Confusion matrix of cascade",
                "language=de",
                "The 3 smallest slices are left out",
                "demo-fallback",
                "stand-in-fast",
                "UNCALIBRATED",
                "splitmix64, seed 42",
                "jev-starter",
                &"ab".repeat(32),
                &"cd".repeat(32),
            ],
        );
    }
}

#[test]
fn texts_are_on_the_page_alone_and_only_if_they_are_given() {
    let (report, mut details) = plain();
    assert!(!markdown::write(&report).contains("You get twenty weeks"));
    says(
        &page(&report, &details),
        &["You get twenty weeks", "Chunk <bdi>c1</bdi>"],
    );
    details.texts = BTreeMap::new();
    let without = page(&report, &details);
    assert!(!without.contains("You get twenty weeks"));
    says(
        &without,
        &["The texts of the rows are left out of this page."],
    );
}

#[test]
fn a_report_of_one_mode_says_what_is_not_known() {
    let (mut report, mut details) = plain();
    report.modes.cascade = None;
    report.modes.baseline_only = None;
    report.cost_quality = None;
    report.comparisons.clear();
    report.slices.clear();
    for row in &mut details.rows {
        row.ends
            .retain(|mode, _| *mode == super::model::Mode::AtomicOnly);
    }
    let text = page(&report, &details);
    says(
        &text,
        &[
            "what remains after fallback is not known",
            "of the 45 of these that have a label it gets 8 wrong",
            "Fewer than two modes were run",
            "No row has a tag",
        ],
    );
    assert_eq!(
        data(&text)["rows"]["baseline_is_right"],
        serde_json::json!([])
    );
    report.modes = Modes::default();
    says(
        &page(&report, &details),
        &["how much the atomic judge resolves is not known"],
    );
}

#[test]
fn the_page_embeds_what_the_report_counts() {
    let (report, details) = plain();
    let data = data(&page(&report, &details));
    let rows = &data["rows"];
    let confidences: Vec<_> = rows["confidence"]
        .as_array()
        .unwrap()
        .iter()
        .map(Value::as_f64)
        .collect();
    assert!(confidences.is_sorted_by(|one, other| other.unwrap_or(-1.0) <= one.unwrap_or(-1.0)));
    let told = report.cost_quality.unwrap();
    assert_eq!(confidences.len() as u64, told.row_count);
    let accepted = confidences
        .iter()
        .filter(|confidence| confidence.is_some_and(|confidence| 0.8 <= confidence))
        .count();
    assert_eq!(accepted as u64, told.accepted[80]);
    let first = &data["dimensions"][0];
    let labelled: u64 = first["values"]
        .as_array()
        .unwrap()
        .iter()
        .map(|value| value[1].as_u64().unwrap() + value[2].as_u64().unwrap())
        .sum();
    assert_eq!(Some(labelled), first["scored_count"].as_u64());
}

#[test]
fn a_page_of_twenty_thousand_rows_stays_small() {
    let (report, mut details) = plain();
    details.rows = sample::rows(20_000);
    let mut dice = sample::Dice(11);
    for row in &mut details.rows {
        for end in row.ends.values_mut() {
            end.confidence = end.confidence.map(|_| dice.roll());
            end.latency_ms = 1000.0 * dice.roll();
        }
        for judgment in &mut row.judgments {
            judgment.1 = dice.roll();
        }
    }
    assert!(page(&report, &details).len() < 6_000_000);
}

#[test]
fn a_long_table_of_markdown_is_cut_off_and_says_so() {
    let (mut report, details) = plain();
    let slice = report.slices.first_key_value().unwrap().1.clone();
    report.slices = (0..100)
        .map(|place| (format!("tag={place:03}"), slice.clone()))
        .collect();
    let text = markdown::write(&report);
    says(&text, &["`tag=009`", "270 more rows stand in the page"]);
    assert!(!text.contains("tag=010"));
    assert!(text.len() < 65_536);
    says(&page(&report, &details), &["tag=099"]);
}

#[test]
fn what_undermines_the_numbers_stands_in_the_head() {
    let (mut report, mut details) = plain();
    report.dataset.row_count = 70;
    report.conventions.is_rounded = true;
    details.texts = BTreeMap::new();
    let common = [
        "What undermines these numbers",
        "cascade was evaluated on 60 of 70 rows.",
        "rows have no usable answer (timeout ",
        "calls to judges failed.",
        "the cost of 2 of 60 rows that asked a judge is unknown",
        "some distributions were rounded",
        "3 slices are left out",
    ];
    let text = page(&report, &details);
    for told in [&text, &markdown::write(&report), &markdown::brief(&report)] {
        says(told, &common);
    }
    says(
        &text,
        &[
            "Moved thresholds are computed from 60 of 70 rows.",
            "The texts of the rows are left out of this page.",
        ],
    );
}

#[test]
fn long_names_of_columns_can_break_and_rows_count_from_one() {
    let (report, details) = plain();
    let text = page(&report, &details);
    says(&text, &["GENERATOR_<wbr>UNGROUNDED</th>", "timeout 1"]);
    assert!(!text.contains("&lt;wbr&gt;"));
    let first = &report.confident_and_wrong[0];
    says(&text, &[&format!("row {} of the dataset", first.index + 1)]);
}

#[test]
fn a_mixed_and_an_unlabelled_report_say_what_they_are() {
    let (mut report, details) = plain();
    report.decision.id = None;
    for mode in [
        &mut report.modes.atomic_only,
        &mut report.modes.baseline_only,
        &mut report.modes.cascade,
    ] {
        let diagnosis = &mut mode.as_mut().unwrap().diagnosis;
        (diagnosis.scored_count, diagnosis.failed_count) = (0, 0);
    }
    for text in [page(&report, &details), markdown::write(&report)] {
        says(
            &text,
            &[
                "two sets: with and without reference answer",
                "no assessable row has a labelled diagnosis",
                "2 * min(P(d",
            ],
        );
        assert!(!text.contains("of 0 labelled rows"));
    }
}
