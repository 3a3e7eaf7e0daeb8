//! Whether `max_state_tokens` leaves room for a trace beside the words of the questions.

use std::collections::BTreeMap;

use super::judges::JudgeConfig;
use super::profiles::ProfileConfig;
use super::reader::Reader;
use crate::domain::Vocabulary as _;
use crate::domain::dimension::{Dimension, DimensionSet};
use crate::domain::outcome::DecisionVariant;
use crate::domain::question::QuestionSet;
use crate::domain::trace::{JudgeId, ProfileName};
use crate::judge::decision::Decision;
use crate::judge::remote::{Layout, RemoteOptions, Wire};
use crate::judge::view::frame_token_count;

/// What a small trace with one chunk takes.
const TRACE_TOKENS: u64 = 200;

/// Warns of judges whose limit the questions alone nearly use up.
pub(super) fn room(
    reader: &mut Reader<'_, '_>,
    judges: &BTreeMap<JudgeId, JudgeConfig>,
    profiles: &BTreeMap<ProfileName, ProfileConfig>,
) {
    for (judge_id, judge) in judges {
        let JudgeConfig::Remote { options, .. } = judge else {
            continue;
        };
        let Some(limit) = options.view.max_state_tokens else {
            continue;
        };
        let words = words(options, asked(judge_id, profiles));
        let least = words + TRACE_TOKENS;
        if limit < least {
            let message = format!(
                "`{limit}` leaves too little for a trace: the questions alone take about {words} tokens with one \
                 chunk; at least {least}"
            );
            let path = ["judges", judge_id.as_str(), "max_state_tokens"];
            reader.warning(&path, message);
        }
    }
}

/// What a judge may be asked about; of one that no profile names, everything.
fn asked(judge_id: &JudgeId, profiles: &BTreeMap<ProfileName, ProfileConfig>) -> DimensionSet {
    let is_asked = |profile: &ProfileConfig, dimension| {
        profile.atomic.judge(dimension) == judge_id || profile.fallback.as_ref() == Some(judge_id)
    };
    let dimensions = Dimension::ALL.iter().copied();
    let asked: DimensionSet = dimensions
        .filter(|&dimension| {
            profiles
                .values()
                .any(|profile| is_asked(profile, dimension))
        })
        .collect();
    if asked.is_empty() {
        DimensionSet::ALL
    } else {
        asked
    }
}

/// The estimated tokens of the questions in the largest request about one chunk.
fn words(options: &RemoteOptions, dimensions: DimensionSet) -> u64 {
    let decision = Decision::of(DecisionVariant::WithReference);
    let all = QuestionSet::from_fn(1, |question| dimensions.contains(question.dimension()));
    let tokens = |questions: &QuestionSet| frame_token_count(questions, 1, decision);
    match options.wire {
        Wire::OpenAiLogprobs {
            layout: Layout::PerQuestion,
            ..
        } => {
            let one = |question| tokens(&all.map(|other, _| other == question));
            all.asked().map(one).max().unwrap_or_default()
        }
        Wire::OpenAiLogprobs {
            layout: Layout::Packed,
            ..
        }
        | Wire::SystemOne
        | Wire::OpenAiDecisions
        | Wire::Chat { .. }
        | Wire::Anthropic { .. } => tokens(&all),
    }
}
