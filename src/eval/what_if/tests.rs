//! Recorded judgments under policies, row by row and over generated ones.

mod verdict_rows;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::decide::{Case, Decision, Served};
use super::recorded::{Decided, Judges, Recorded};
use super::{replay_line, rows_line, verdict_line};
use crate::artifact::policy;
use crate::domain::Vocabulary as _;
use crate::domain::diagnosis::Diagnosis;
use crate::domain::dimension::{Dimension, DimensionMap, DimensionRole};
use crate::domain::outcome::{NanoUsd, Route};
use crate::policy::thresholds::Thresholds;
use crate::policy::{ChunkRule, DimensionPolicy, Policy, UpstreamRule};

fn built_in(name: &str) -> Policy {
    let snapshot = policy::built_in(name).unwrap().unwrap();
    Policy::clone(&snapshot.policy)
}

fn decide(row: &Recorded<'_>, policy: &Policy) -> Decision {
    let mut judges = Judges::default();
    let case = Case::new(row, &mut judges).unwrap();
    case.decide(policy, &mut judges)
}

/// A line of a rows file with these legs.
fn row(legs: &str) -> String {
    format!(
        r#"{{"index":0,"trace_id":"t","group":"0","variant":"without_reference","chunk_ids":["c1"],{legs},"ends":{{}}}}"#
    )
}

const GOOD: &str = r#""context_sufficiency":0.99,"context_conflict":0.01,"answer_relevance":0.99"#;
const REST: &str = r#""contradiction":0.01,"correctness":{"not_applicable":"no_reference"}"#;

/// A leg whose groundedness is this; the rest is good.
fn leg(role: &str, judge: &str, groundedness: &str) -> String {
    format!(
        r#""{role}":{{"judge_id":"{judge}","source":"native","chunks":[0.99],"whole":{{{GOOD},"groundedness":{groundedness},{REST}}},"nano_usd":7,"latency_us":1}}"#
    )
}

#[test]
fn an_answer_that_was_not_recorded_is_not_guessed() {
    let policy = built_in("parity-v1");
    let atomic = leg("atomic", "a", "0.5");
    let alone = row(&atomic);
    let decision = decide(&rows_line::read(&alone).unwrap(), &policy);
    assert_eq!(decision.decided.route, Route::FallbackUnavailable);
    assert_eq!(decision.served, Served::NotRecorded);
    assert_eq!(decision.cost, None);

    let other = r#""fallback":{"judge_id":"f","source":"native","chunks":[],"whole":{"contradiction":0.01},"nano_usd":5,"latency_us":1}"#;
    let partly = row(&format!("{atomic},{other}"));
    let decision = decide(&rows_line::read(&partly).unwrap(), &policy);
    assert_eq!(decision.served, Served::NotRecorded);

    // The baseline was asked everything, so it may serve.
    let baseline = leg("baseline", "f", "0.99");
    let both = row(&format!("{atomic},{other},{baseline}"));
    let decision = decide(&rows_line::read(&both).unwrap(), &policy);
    assert_eq!(decision.served, Served::Baseline);
    assert_eq!(decision.decided.diagnosis, Diagnosis::Pass);
    assert_eq!(decision.cost, Some(NanoUsd(14)));
}

#[test]
fn a_recorded_failure_of_the_fallback_judge_is_one() {
    let policy = built_in("parity-v1");
    let atomic = leg("atomic", "a", "0.5");
    let failed = leg("fallback", "f", r#"{"failed":"timeout"}"#);
    let text = row(&format!("{atomic},{failed}"));
    let decision = decide(&rows_line::read(&text).unwrap(), &policy);
    assert_eq!(decision.served, Served::Failed);
    assert_eq!(decision.decided.diagnosis, Diagnosis::JudgeUncertain);
    assert_eq!(decision.decided.route, Route::FallbackUnavailable);
}

#[test]
fn what_the_fallback_judge_answered_in_part_stands_and_the_rest_stays_open() {
    let policy = built_in("parity-v1");
    let open = r#""contradiction":0.5"#;
    let atomic = leg("atomic", "a", "0.5").replace(r#""contradiction":0.01"#, open);
    let fallback = |whole: &str| {
        let leg = format!(
            r#""fallback":{{"judge_id":"f","source":"native","chunks":[],"whole":{{{whole}}},"nano_usd":5,"latency_us":1}}"#
        );
        let text = row(&format!("{atomic},{leg}"));
        decide(&rows_line::read(&text).unwrap(), &policy)
    };
    let whole = fallback(r#""groundedness":0.01,"contradiction":0.99"#);
    assert_eq!(whole.decided.diagnosis, Diagnosis::GeneratorUngrounded);
    assert_eq!(whole.served, Served::Fallback);

    // It was asked about contradiction too and failed there, which replaces nothing.
    let failed = fallback(r#""groundedness":0.01,"contradiction":{"failed":"protocol"}"#);
    assert_eq!(failed.decided.diagnosis, Diagnosis::GeneratorUngrounded);
    assert_eq!(failed.decided.route, Route::Fallback);
    assert_eq!(failed.served, Served::Fallback);
    assert_eq!(failed.cost, Some(NanoUsd(12)));

    // It was never asked about contradiction, so what that would have cost is not known.
    let partly = fallback(r#""groundedness":0.01"#);
    assert_eq!(partly.decided, failed.decided);
    assert_eq!(partly.served, Served::Partly);
    assert_eq!(partly.cost, None);
}

/// A replay row with these answers and what follows them.
fn replay(answers: &str, details: &str) -> String {
    format!(
        r#"{{"trace_id":"t","judge_id":"a","source":"native","decision":{{"id":"d","version":"2","variant":"without_reference"}},"answers":{{{answers}}}{details},"latency_ms":1}}"#
    )
}

#[test]
fn the_details_of_a_replay_row_are_heeded_as_the_cells_of_a_rows_file_are() {
    let policy = built_in("parity-v1");
    let answers = format!(
        r#""chunk_relevance":{{"c1":0.99}},{GOOD},"groundedness":0.99,"contradiction":0.01"#
    );
    let without = answers.replace(r#","groundedness":0.99"#, "");
    let mut decisions = Vec::new();
    for (answers, cell, detail) in [
        (&answers, r#"{"probability":0.99}"#, "{}"),
        (
            &answers,
            r#"{"probability":0.99,"vetoes_pass":true}"#,
            r#"{"vetoes_pass":true,"guards":["injection_signal"]}"#,
        ),
        (
            &answers,
            r#"{"probability":0.99,"seen_fraction":0.25}"#,
            r#"{"seen_fraction":0.25,"label_mass":0.5}"#,
        ),
        (
            &answers,
            r#"{"probability":0.99,"source":"verbalized"}"#,
            r#"{"source":"verbalized","basis":"heuristic"}"#,
        ),
        (
            &without,
            r#"{"failed":"too_long"}"#,
            r#"{"failed":"too_long"}"#,
        ),
    ] {
        let text = replay(
            answers,
            &format!(r#","details":{{"groundedness":{detail}}}"#),
        );
        let replayed = replay_line::Line::read(&text).unwrap().recorded(None);
        let text = row(&leg("atomic", "a", cell));
        let rows = rows_line::read(&text).unwrap();
        let judgments = [&replayed, &rows].map(|row| {
            let atomic = row.atomic.as_ref().unwrap();
            atomic.judgments(1, &mut Judges::default())
        });
        assert_eq!(judgments[0], judgments[1], "{detail}");
        let decision = decide(&replayed, &policy);
        assert_eq!(decision.decided, decide(&rows, &policy).decided, "{detail}");
        decisions.push(decision.decided.diagnosis);
    }
    assert_eq!(decisions[0], Diagnosis::Pass);
    assert_eq!(decisions[1], Diagnosis::JudgeUncertain);
    assert_eq!(decisions[4], Diagnosis::JudgeUncertain);

    let text = replay(
        r#""chunk_relevance":{"c1":0.99}"#,
        r#","details":{"chunk_relevance":{"c2":{"failed":"timeout"}}}"#,
    );
    let replayed = replay_line::Line::read(&text).unwrap().recorded(None);
    assert_eq!(replayed.chunk_count, 2);
}

#[test]
fn a_replay_row_that_no_judge_could_replay_is_refused() {
    let (one, none) = (r#""groundedness":0.5"#, "");
    for (answers, details, problem) in [
        (
            r#""groundedness":0.5,"verdict":{"diagnosis":"PASS"}"#,
            "",
            "in place of probabilities",
        ),
        (
            r#""verdict":{"diagnosis":"PASS"},"chunk_relevance":{"c":0.5}"#,
            "",
            "in place of probabilities",
        ),
        (
            r#""verdict":{"diagnosis":"NOT_ASSESSABLE"}"#,
            "",
            "is not a verdict of a judge",
        ),
        (
            r#""verdict":{"diagnosis":"PASS"},"verdict":{"diagnosis":"PASS"}"#,
            "",
            "`verdict` is there twice",
        ),
        (
            none,
            r#""groundedness":{"vetoes_pass":true}"#,
            "details.groundedness: the question has no answer",
        ),
        (
            none,
            r#""chunk_relevance":{"c":{}}"#,
            "details.chunk_relevance.c: the question has no answer",
        ),
        (
            one,
            r#""groundedness":{"failed":"too_long"}"#,
            "not beside one",
        ),
        (
            one,
            r#""groundedness":{"seen_fraction":0}"#,
            "is not a share",
        ),
        (one, r#""mood":{}"#, "unknown field `mood`"),
    ] {
        let text = replay(answers, &format!(r#","details":{{{details}}}"#));
        let error = replay_line::Line::read(&text).err().unwrap().to_string();
        assert!(error.contains(problem), "{problem}: {error}");
    }
    let text = replay(one, r#","details":null"#);
    assert!(replay_line::Line::read(&text).is_err());
}

#[test]
fn what_a_replay_row_does_not_answer_was_asked_and_failed() {
    let policy = built_in("parity-v1");
    let atomic =
        leg("atomic", "a", "0.5").replace(r#""contradiction":0.01"#, r#""contradiction":0.5"#);
    let atomic = row(&atomic);
    for (answers, served) in [
        (r#""groundedness":0.01"#, Served::Fallback),
        (r#""answer_relevance":0.01"#, Served::Failed),
    ] {
        let text = replay(answers, "");
        let mut recorded = rows_line::read(&atomic).unwrap();
        recorded.fallback = Some(replay_line::Line::read(&text).unwrap().leg(None));
        assert_eq!(decide(&recorded, &policy).served, served, "{answers}");
    }
}

#[test]
fn what_ended_with_the_atomic_judge_is_told_by_a_failed_end_without_a_route() {
    let failed = leg("atomic", "a", "0.5").replace("0.99", r#"{"failed":"timeout"}"#);
    let failed = failed
        .replace("0.01", r#"{"failed":"timeout"}"#)
        .replace("0.5", r#"{"failed":"timeout"}"#);
    let partly = failed.replacen(r#"{"failed":"timeout"}"#, "0.5", 1);
    for (leg, end, has_ended) in [
        (&failed, r#""cascade":{"failed":"timeout"}"#, true),
        (&failed, r#""atomic_only":{"failed":"timeout"}"#, true),
        (
            &failed,
            r#""cascade":{"failed":"timeout","route":"fallback_unavailable"}"#,
            false,
        ),
        (&partly, r#""cascade":{"failed":"timeout"}"#, false),
    ] {
        let text = row(leg).replace(r#""ends":{}"#, &format!(r#""ends":{{{end}}}"#));
        assert_eq!(
            rows_line::read(&text).unwrap().has_ended,
            has_ended,
            "{text}"
        );
    }
}

#[test]
fn what_was_switched_off_was_never_asked() {
    let policy = built_in("parity-v1");
    let text = row(&leg("atomic", "a", r#"{"not_applicable":"switched_off"}"#));
    let recorded = rows_line::read(&text).unwrap();
    let decision = decide(&recorded, &policy);
    let never: Vec<_> = decision.never_asked.iter().collect();
    assert_eq!(never, [Dimension::Groundedness]);
    assert_eq!(decision.decided.diagnosis, Diagnosis::JudgeUncertain);

    let mut without = policy;
    without.dimensions[Dimension::Groundedness].role = DimensionRole::Off;
    without.dimensions[Dimension::Groundedness].thresholds = None;
    let decision = decide(&recorded, &without);
    assert!(decision.never_asked.is_empty());
    assert_eq!(decision.decided.diagnosis, Diagnosis::Pass);
}

#[test]
fn only_open_questions_are_replaced() {
    let policy = built_in("parity-v1");
    let atomic = leg("atomic", "a", "0.5");
    let fallback = leg("fallback", "f", "0.99")
        .replace("\"context_conflict\":0.01", "\"context_conflict\":0.99");
    let text = row(&format!("{atomic},{fallback}"));
    let decision = decide(&rows_line::read(&text).unwrap(), &policy);
    assert_eq!(decision.decided.diagnosis, Diagnosis::Pass);
    assert_eq!(decision.decided.route, Route::Fallback);
}

#[test]
fn a_trace_whose_chunks_are_not_named_has_no_miss() {
    let line = r#"{"trace_id":"t","judge_id":"a","decision":{"id":"d","version":"2","variant":"without_reference"},"answers":{"verdict":{"diagnosis":"PASS"}},"latency_ms":1}"#;
    let row = replay_line::Line::read(line).unwrap().recorded(None);
    let decision = decide(&row, &built_in("parity-v1"));
    assert_eq!(decision.decided.diagnosis, Diagnosis::JudgeUncertain);
}

#[test]
fn lines_that_are_not_what_they_should_be_are_refused() {
    for bad in [
        r#""atomic":{"judge_id":"a","chunks":[1.5],"whole":{},"latency_us":1}"#,
        r#""atomic":{"judge_id":"a","chunks":[],"whole":{"mood":0.5},"latency_us":1}"#,
        r#""atomic":{"judge_id":"a","chunks":[],"whole":{"groundedness":{"probability":0.5,"failed":"timeout"}},"latency_us":1}"#,
        r#""atomic":{"judge_id":"a","chunks":[],"whole":{"groundedness":0.5,"groundedness":0.6},"latency_us":1}"#,
        r#""surprise":1"#,
    ] {
        assert!(rows_line::read(&row(bad)).is_err(), "{bad}");
    }
    assert!(verdict_line::read("{}").is_err());
    assert!(replay_line::Line::read("{}").is_err());
}

const PAIRS: [(f64, f64); 4] = [(0.2, 0.8), (0.05, 0.95), (0.45, 0.55), (0.0, 1.0)];

prop_compose! {
    fn a_policy()(
        rows in vec((prop_oneof![
            5 => Just(DimensionRole::Required),
            2 => Just(DimensionRole::Advisory),
            1 => Just(DimensionRole::Off),
        ], select(&PAIRS)), Dimension::COUNT),
        chunk_rule in select(ChunkRule::ALL),
        upstream in select(UpstreamRule::ALL),
    ) -> Policy {
        let mut policy = built_in("parity-v1");
        policy.dimensions = DimensionMap::from_fn(|dimension| {
            let (role, (fail_at, pass_at)) = rows[dimension.index()];
            let thresholds = (role != DimensionRole::Off).then(|| Thresholds::new(fail_at, pass_at).unwrap());
            DimensionPolicy { thresholds, role }
        });
        policy.chunk_rule = chunk_rule;
        policy.upstream = upstream;
        policy
    }
}

/// A cell as a rows file has it.
fn a_cell() -> impl Strategy<Value = String> {
    let number = (0..=20_u32).prop_map(|twentieths| f64::from(twentieths) / 20.0);
    prop_oneof![
        8 => number.clone().prop_map(|p| p.to_string()),
        2 => (number, any::<bool>(), select(vec!["native", "verbalized"])).prop_map(|(p, vetoes, source)| format!(
            r#"{{"probability":{p},"source":"{source}","seen_fraction":0.5,"vetoes_pass":{vetoes}}}"#
        )),
        1 => Just(r#"{"failed":"protocol"}"#.to_owned()),
        1 => Just(r#"{"not_applicable":"switched_off"}"#.to_owned()),
    ]
}

prop_compose! {
    fn a_leg(role: &'static str)(
        chunks in vec(a_cell(), 2),
        whole in vec(a_cell(), Dimension::COUNT - 1),
    ) -> String {
        let whole: Vec<_> = Dimension::ALL[1..]
            .iter()
            .zip(whole)
            .map(|(dimension, cell)| format!("\"{dimension}\":{cell}"))
            .collect();
        format!(
            r#""{role}":{{"judge_id":"{role}","source":"native","chunks":[{}],"whole":{{{}}},"nano_usd":3,"latency_us":1}}"#,
            chunks.join(","),
            whole.join(",")
        )
    }
}

proptest! {
    /// What one policy decides, it decides again over a record of its own decision; and it decides without the fallback
    /// judge exactly what `policy::diagnose` does.
    #[test]
    fn the_same_policy_decides_the_same(
        policy in a_policy(),
        atomic in a_leg("atomic"),
        fallback in option::of(a_leg("fallback")),
        baseline in option::of(a_leg("baseline")),
    ) {
        let legs: Vec<_> = [Some(atomic), fallback, baseline].into_iter().flatten().collect();
        let text = row(&legs.join(",")).replace("[\"c1\"]", "[\"c1\",\"c2\"]");
        let recorded = rows_line::read(&text).unwrap();
        let first = decide(&recorded, &policy);
        prop_assert_eq!(first, decide(&recorded, &policy));

        let judgments = recorded.atomic.as_ref().unwrap().judgments(2, &mut Judges::default());
        let judgments = crate::cascade::settle::under(&policy, &judgments).unwrap_or(judgments);
        let ruling = crate::policy::diagnose(&policy, &judgments);
        let is_open = ruling.diagnosis == Diagnosis::JudgeUncertain;
        prop_assert_eq!(first.served == Served::NotNeeded, !is_open);
        if !is_open {
            let expected = Decided {
                diagnosis: ruling.diagnosis,
                confidence: ruling.confidence,
                route: Route::Auto,
                rule: ruling.fired.rule,
            };
            prop_assert_eq!(first.decided, expected);
        }
        if matches!(first.served, Served::NotRecorded | Served::Failed | Served::NothingToAsk) {
            prop_assert_eq!(first.decided.route, Route::FallbackUnavailable);
            prop_assert_eq!(first.decided.diagnosis, Diagnosis::JudgeUncertain);
        }
    }
}
