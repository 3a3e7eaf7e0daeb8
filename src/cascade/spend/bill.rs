//! What a call may cost before it is made, and what it did cost after.

use crate::artifact::pricing::PricingSnapshot;
use crate::cascade::money;
use crate::domain::failure::FailureReason;
use crate::domain::outcome::{JudgeCall, NanoUsd};
use crate::domain::question::QuestionSet;
use crate::judge::remote::{Layout, RemoteOptions, Wire};
use crate::judge::view::{View, ViewOptions, frame_token_count};
use crate::judge::{Answer, Ask, JudgeError, JudgeInfo};
use crate::pricing::PriceTable;

/// Output tokens of an answer besides those of its questions, where nothing bounds them.
const ANSWER_TOKENS: u64 = 256;
/// Output tokens for one question.
const QUESTION_TOKENS: u64 = 64;

/// What is known of the calls of a judge before they are made.
#[derive(Debug, Clone)]
pub(super) struct Bounds {
    /// The model asked for, and the one that must answer.
    models: Vec<String>,
    max_state_tokens: Option<u64>,
    requests: Requests,
    max_output_tokens: Option<u64>,
    max_statements: Option<usize>,
}

/// How many requests an ask may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Requests {
    /// One.
    One,
    /// One for each question.
    PerQuestion,
    /// One, and another to repair what was said.
    Repaired,
}

/// What became of a reservation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bill {
    /// What is known to be spent.
    pub(super) known: NanoUsd,
    /// Whether more may have been, so that the reservation is kept.
    pub(super) may_be_more: bool,
    /// Requests that went out, repeated ones too.
    pub(super) call_count: u64,
}

/// What a call that failed costs of which nothing is told but why.
enum Fate {
    /// Nothing: it did not go out.
    Unsent,
    /// Nothing: it was turned away.
    Unbilled,
    /// It may have been billed.
    Unknown,
}

impl Bounds {
    pub(super) fn of_any(info: &JudgeInfo) -> Self {
        Self {
            models: info.requested_model.iter().cloned().collect(),
            max_state_tokens: info.max_state_tokens,
            requests: Requests::One,
            max_output_tokens: None,
            max_statements: None,
        }
    }

    pub(super) fn of_remote(info: &JudgeInfo, remote: &RemoteOptions) -> Self {
        let models = [
            Some(&remote.model.model),
            remote.model.expect_model.as_ref(),
        ];
        let (requests, max_output_tokens) = match remote.wire {
            Wire::SystemOne | Wire::OpenAiDecisions => (Requests::One, None),
            Wire::OpenAiLogprobs { layout, .. } => match layout {
                Layout::Packed => (Requests::One, None),
                Layout::PerQuestion => (Requests::PerQuestion, None),
            },
            Wire::Chat { max_output_tokens } | Wire::Anthropic { max_output_tokens } => {
                (Requests::Repaired, Some(u64::from(max_output_tokens)))
            }
        };
        Self {
            models: models.into_iter().flatten().cloned().collect(),
            max_state_tokens: info.max_state_tokens,
            requests,
            max_output_tokens,
            max_statements: remote.view.max_statements,
        }
    }

    /// The first of the models that has a price.
    pub(super) fn priced_model(&self, table: &PriceTable) -> Option<&str> {
        let mut models = self.models.iter().map(String::as_str);
        models.find(|model| table.models.contains_key(*model))
    }

    /// The models, to be told to a reader.
    pub(super) fn model_names(&self) -> String {
        self.models.join("` or of model `")
    }

    /// The most calls that an ask about so many questions can be.
    pub(super) const fn max_call_count(&self, question_count: u64) -> u64 {
        match self.requests {
            Requests::One => 1,
            Requests::PerQuestion => question_count,
            Requests::Repaired => 2,
        }
    }

    /// The most that an ask is expected to cost. The estimate of tokens errs, so a quarter is added.
    pub(super) fn estimate(&self, ask: &Ask<'_>, table: &PriceTable) -> Option<NanoUsd> {
        let model = self.priced_model(table)?;
        let asked = self.answer_count(ask);
        let output = self
            .max_output_tokens
            .unwrap_or(ANSWER_TOKENS + QUESTION_TOKENS * asked);
        let (input, output) = match self.requests {
            Requests::One => (self.input(ask, ask.questions), output),
            Requests::PerQuestion => {
                let one = |question| ask.questions.map(|other, _| other == question);
                let alone = ask.questions.asked().map(one);
                let input = alone.map(|questions| self.input(ask, &questions)).sum();
                (input, output)
            }
            // The repair is sent the form and what was said, and nothing of the trace.
            Requests::Repaired => {
                let chunk_count = ask.trace.chunks.len();
                let form = frame_token_count(ask.questions, chunk_count, ask.decision);
                let input = self.input(ask, ask.questions) + form + output;
                (input, output * 2)
            }
        };
        table.upper_bound(model, input + input / 4, output)
    }

    /// Everything about which something is answered.
    fn answer_count(&self, ask: &Ask<'_>) -> u64 {
        let statements = self.max_statements.map_or(0, |_| {
            let view = self.view(ask);
            view.asked_statements().count()
        });
        (ask.questions.asked().count() + statements) as u64
    }

    /// The whole of what the judge could be shown.
    fn view<'a>(&self, ask: &Ask<'a>) -> View<'a> {
        let options = ViewOptions {
            max_statements: self.max_statements,
            ..ViewOptions::default()
        };
        View::of(ask, &options)
    }

    fn input(&self, ask: &Ask<'_>, questions: &QuestionSet) -> u64 {
        let ask = Ask { questions, ..*ask };
        let view = self.view(&ask);
        let input = view.request_token_count(ask.decision);
        self.max_state_tokens.map_or(input, |most| input.min(most))
    }

    /// What is known of the cost once an ask is over.
    pub(super) fn bill(
        &self,
        result: &Result<Answer, JudgeError>,
        pricing: Option<&PricingSnapshot>,
    ) -> Bill {
        let (calls, failure) = match result {
            Ok(answer) => (&answer.calls, None),
            Err(error) => (&error.calls, Some(error.reason)),
        };
        let is_unsent = result.as_ref().is_err_and(|error| error.is_unsent);
        let mut bill = Bill {
            known: NanoUsd::ZERO,
            may_be_more: false,
            call_count: 0,
        };
        if calls.is_empty() && !is_unsent {
            bill.untold(failure);
        }
        for call in calls.iter().filter(|call| !call.is_unsent()) {
            bill.call_count += u64::from(call.attempt_count);
            bill.may_be_more |= call.may_be_billed;
            match self.cost(call, pricing) {
                Some(cost) => bill.known = bill.known.plus(cost),
                // What failed without telling tokens is not billed, unless the call says that it may be.
                None => bill.may_be_more |= call.failure.is_none() || call.usage.is_some(),
            }
        }
        bill
    }

    /// The cost of a call; one by a model without a price costs what the judge's own model does.
    fn cost(&self, call: &JudgeCall, pricing: Option<&PricingSnapshot>) -> Option<NanoUsd> {
        money::cost_of(call, pricing).or_else(|| {
            let table = &pricing?.table;
            table.cost(self.priced_model(table)?, call.usage.as_ref()?)
        })
    }
}

impl Bill {
    fn untold(&mut self, failure: Option<FailureReason>) {
        let fate = failure.map_or(Fate::Unknown, fate);
        match fate {
            Fate::Unsent => {}
            Fate::Unbilled => self.call_count += 1,
            Fate::Unknown => {
                self.call_count += 1;
                self.may_be_more = true;
            }
        }
    }
}

const fn fate(reason: FailureReason) -> Fate {
    match reason {
        FailureReason::Budget
        | FailureReason::BreakerOpen
        | FailureReason::Overloaded
        | FailureReason::Undecidable
        | FailureReason::UnsupportedLanguage => Fate::Unsent,
        FailureReason::RateLimited
        | FailureReason::Unavailable
        | FailureReason::Unauthenticated
        | FailureReason::TooLong => Fate::Unbilled,
        FailureReason::Timeout
        | FailureReason::Protocol
        | FailureReason::Refused
        | FailureReason::OutputTruncated
        | FailureReason::TruncatedByJudge
        | FailureReason::LowLabelMass
        | FailureReason::LogprobsUnsupported
        | FailureReason::ModelMismatch => Fate::Unknown,
    }
}

#[cfg(test)]
mod tests;
