//! How the embedded judge says what it found: probabilities, failures and evidence.

use std::ops::Range;

use super::Clamp;
use super::index::Index;
use crate::domain::failure::FailureReason;
use crate::domain::judgment::{
    Evidence, Failure, Judged, Judgment, JudgmentBasis, JudgmentDelivery, JudgmentSource,
    SeenFraction,
};
use crate::domain::outcome::JudgeRole;
use crate::domain::probability::Probability;
use crate::domain::trace::JudgeId;

/// Who speaks, in which role, and how far rules of thumb may go.
pub(super) struct Voice<'a> {
    pub(super) judge_id: &'a JudgeId,
    pub(super) role: JudgeRole,
    pub(super) clamp: Clamp,
}

impl Voice<'_> {
    /// A probability, to four decimals, for it is no more exact than that; all text was seen.
    pub(super) fn judged(
        &self,
        p: f64,
        basis: JudgmentBasis,
        vetoes_pass: bool,
        evidence: Option<Evidence>,
    ) -> Judgment {
        let Ok(probability) = Probability::try_from((p * 1e4).round() / 1e4) else {
            return self.failed(FailureReason::Undecidable);
        };
        Judgment::Judged(Judged {
            probability,
            judge_id: self.judge_id.clone(),
            role: self.role,
            source: JudgmentSource::Embedded,
            delivery: JudgmentDelivery::Live,
            basis,
            seen_fraction: SeenFraction::ALL,
            label_mass: None,
            vetoes_pass,
            evidence: evidence.map(Box::new),
        })
    }

    /// A rule of thumb: `share` from 0 to 1 is laid over the range that rules of thumb may use.
    pub(super) fn heuristic(&self, share: f64, evidence: Option<Evidence>) -> Judgment {
        let (low, high) = (self.clamp.low().value(), self.clamp.high().value());
        let p = (low + (high - low) * share).max(low).min(high);
        self.judged(p, JudgmentBasis::Heuristic, false, evidence)
    }

    /// No probability.
    pub(super) fn failed(&self, reason: FailureReason) -> Judgment {
        Judgment::Failed(Failure {
            judge_id: self.judge_id.clone(),
            reason,
        })
    }
}

/// Evidence that points at sentences in a row of one text; at nothing if the text is no chunk.
pub(super) fn passage(index: &Index, sentences: Option<Range<usize>>) -> Evidence {
    let sentences = sentences.and_then(|range| index.sentences.get(range));
    match sentences {
        Some([first, .., last]) if first.source < index.chunk_count => Evidence {
            chunk: Some(first.source),
            span: first.span.start..last.span.end,
            ..Evidence::default()
        },
        Some([only]) if only.source < index.chunk_count => Evidence {
            chunk: Some(only.source),
            span: only.span.clone(),
            ..Evidence::default()
        },
        _ => Evidence::default(),
    }
}
