//! A prompt as long as the judge is said to take, with what decides at its very start.
//!
//! A service that cuts prompts keeps their end and answers as if nothing were missing; only such a prompt shows it.

use std::sync::Arc;
use std::time::Duration;

use super::Inquiry;
use super::report::Finding;
use super::samples;
use crate::cli::names::{Check, Grade};
use crate::domain::dimension::{Dimension, DimensionSet};
use crate::domain::outcome::JudgeRole;
use crate::domain::question::{Question, QuestionSet};
use crate::domain::trace::{Trace, TraceError};
use crate::judge::Judge;
use crate::judge::remote::RemoteOptions;
use crate::judge::view::{View, ViewOptions, was_truncated};

const QUESTION: &str = "Which password opens the east depot?";
const FACT: &str = "The password that opens the east depot is marigold seventeen.";
/// Lines of filler in a chunk.
const LINES: usize = 8;
/// So many lines are measured to find out what one costs.
const SOME_LINES: u64 = 8 * LINES as u64;
/// How often a length that should do is tried.
const TRIES: usize = 3;
/// Above this a judge says yes.
const YES: f64 = 0.5;

/// Whether the judge reads as much as is declared.
pub(super) async fn check(
    judge: &dyn Judge,
    options: Option<&RemoteOptions>,
    timeout: Duration,
) -> Finding {
    let told = |result, detail: String| Finding::new(Check::Needle, result, detail);
    let Some((options, limit)) = options.zip(judge.info().max_state_tokens) else {
        return told(Grade::Unknown, "no max_state_tokens is declared".to_owned());
    };
    let wanted = DimensionSet::from_iter([Dimension::Groundedness, Dimension::ContextSufficiency]);
    let (trace, estimate) = match longest(options, limit, wanted) {
        Ok(Some(longest)) => longest,
        Ok(None) => {
            let detail = format!("{limit} tokens are too few for the questions and one chunk");
            return told(Grade::Unknown, detail);
        }
        Err(error) => return told(Grade::Bad, error.to_string()),
    };
    let questions = questions(&trace, wanted);
    let inquiry = inquiry(&trace, &questions, timeout);
    let sent = format!("about {estimate} tokens of {limit} declared");
    let answer = match inquiry.of(judge).await {
        Ok(answer) => answer,
        Err(error) => {
            let detail = error.detail.unwrap_or_default();
            let detail = format!("{}: {detail} (a prompt of {sent})", error.reason);
            return told(Grade::Bad, detail);
        }
    };
    let reported = answer
        .calls
        .iter()
        .find_map(|call| call.usage?.input_token_count);
    if was_truncated(estimate, reported) {
        let reported = reported.unwrap_or_default();
        let detail = format!("truncated: {reported} tokens were read of {sent}");
        return told(Grade::Bad, detail);
    }
    let judged = |dimension| {
        let judgment = answer.answers[Question::about(dimension)].as_ref()?;
        judgment.judged().map(|judged| judged.probability.value())
    };
    let seen: Vec<_> = wanted
        .iter()
        .filter_map(|d| Some((d, judged(d)?)))
        .collect();
    if seen.is_empty() {
        return told(Grade::Bad, format!("no answer about a prompt of {sent}"));
    }
    match seen.iter().find(|(_, p)| *p <= YES) {
        Some((dimension, p)) => told(
            Grade::Bad,
            format!(
                "truncated: what stands at the start of {sent} is not seen ({dimension} is {p:.2})"
            ),
        ),
        None => told(
            Grade::Good,
            format!("what stands at the start of {sent} is seen"),
        ),
    }
}

fn questions(trace: &Trace, wanted: DimensionSet) -> QuestionSet {
    QuestionSet::from_fn(trace.chunks.len(), |_| true).restricted_to(wanted)
}

const fn inquiry<'a>(
    trace: &'a Arc<Trace>,
    questions: &'a QuestionSet,
    timeout: Duration,
) -> Inquiry<'a> {
    Inquiry {
        trace,
        questions,
        history_is_evidence: false,
        role: JudgeRole::Atomic,
        timeout,
    }
}

/// The longest trace that is shown whole, as near as lines go, with the tokens of the whole request about it; `None`
/// if there is none.
fn longest(
    options: &RemoteOptions,
    limit: u64,
    wanted: DimensionSet,
) -> Result<Option<(Arc<Trace>, u64)>, TraceError> {
    let measured = |line_count: u64| {
        let trace = of_length(usize::try_from(line_count).unwrap_or(usize::MAX))?;
        let questions = questions(&trace, wanted);
        let inquiry = inquiry(&trace, &questions, Duration::ZERO);
        let ask = inquiry.ask();
        // The whole of it is measured, so the limit is set aside.
        let unlimited = ViewOptions {
            max_state_tokens: None,
            ..options.view.clone()
        };
        let view = View::of(&ask, &unlimited);
        let is_whole = view.unasked.is_empty();
        let tokens = view.request_token_count(ask.decision);
        Ok(is_whole.then_some((trace, tokens)))
    };
    let Some((trace, least)) = measured(0)? else {
        return Ok(None);
    };
    let Some(room) = limit.checked_sub(least) else {
        return Ok(None);
    };
    // Long views are dear, so a short one tells what a line costs; nothing but the redactor keeps lines from being alike.
    let mut best = (trace, least);
    let mut used = match measured(SOME_LINES)? {
        Some((_, tokens)) => tokens.saturating_sub(least).max(1),
        None => return Ok(Some(best)),
    };
    let mut line_count = SOME_LINES;
    for _ in 0..TRIES {
        let filled = u128::from(line_count) * u128::from(room) / u128::from(used);
        let next = u64::try_from(filled).unwrap_or(line_count);
        // What was just too long by the same measure loses a line.
        line_count = if next == line_count {
            next.saturating_sub(1)
        } else {
            next
        };
        let Some((trace, tokens)) = measured(line_count)? else {
            break;
        };
        if tokens <= limit {
            best = (trace, tokens);
            break;
        }
        used = tokens.saturating_sub(least).max(1);
    }
    Ok(Some(best))
}

/// The fact and so many lines of filler, in chunks; the first of them stands behind the fact.
fn of_length(line_count: usize) -> Result<Arc<Trace>, TraceError> {
    let lines: Vec<_> = (1..=line_count)
        .map(|number| {
            format!("Delivery {number:06} held lamps and was signed for at the side gate.")
        })
        .collect();
    let (first, others) = lines.split_at(LINES.min(line_count));
    let first = std::iter::once(FACT).chain(first.iter().map(String::as_str));
    let first = first.collect::<Vec<_>>().join(" ");
    let others = others.chunks(LINES).map(|lines| lines.join(" "));
    let chunks = std::iter::once(first).chain(others).collect();
    samples::trace(QUESTION, chunks, FACT, None)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::config::judges::JudgeConfig;
    use crate::config::{self, Overrides};
    use crate::domain::trace::JudgeId;

    /// The options of a judge that takes so many tokens.
    fn options(more: &str) -> RemoteOptions {
        let text = format!(
            "[judges.j]\ntype = 'systemone'\nbase_url = 'https://j.example'\nmodel = 'm'\n{more}"
        );
        let text = Some(("c.toml", &*text));
        let config = config::load(text, &BTreeMap::new(), Overrides::default()).unwrap();
        match &config.judges[&JudgeId::from("j")] {
            JudgeConfig::Remote { options, .. } => (**options).clone(),
            _ => panic!("not over HTTP"),
        }
    }

    #[test]
    fn the_whole_request_comes_near_the_declared_size_and_is_shown_whole() {
        let wanted =
            DimensionSet::from_iter([Dimension::Groundedness, Dimension::ContextSufficiency]);
        for redact in ["", "redact = ['phone', '[0-9]+']"] {
            for limit in [480, 1_000, 3_000] {
                let options = options(&format!("max_state_tokens = {limit}\n{redact}"));
                let (trace, tokens) = longest(&options, limit, wanted).unwrap().unwrap();
                assert!(
                    limit * 9 / 10 <= tokens && tokens <= limit,
                    "{limit}: {tokens}"
                );
                let questions = questions(&trace, wanted);
                let inquiry = inquiry(&trace, &questions, Duration::ZERO);
                let ask = inquiry.ask();
                let view = View::of(&ask, &options.view);
                assert!(view.unasked.is_empty() && view.seen_context.is_whole());
                assert_eq!(view.request_token_count(ask.decision), tokens);
            }
            let none = longest(&options(redact), 100, wanted).unwrap();
            assert_eq!(none, None);
        }
    }
}
