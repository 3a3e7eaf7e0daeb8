//! Why there is no probability: structural reasons and failures, which never mix.

use super::vocabulary;

vocabulary! {
    /// Why a question does not apply to a trace. Every rule skips such a question, and it never blocks a PASS.
    "reason why a question does not apply"
    pub enum NotApplicableReason {
        /// There is no chunk with text.
        NoContext = "no_context",
        /// The answer is blank.
        EmptyAnswer = "empty_answer",
        /// There is no reference answer.
        NoReference = "no_reference",
        /// The scope of the request leaves it out.
        OutOfScope = "out_of_scope",
        /// The policy switches it off.
        SwitchedOff = "switched_off",
    }
}

vocabulary! {
    /// Why a judge gave no probability. A failure is never a probability and never helps a PASS.
    "reason of a failure"
    pub enum FailureReason {
        /// The judge did not answer in its time.
        Timeout = "timeout",
        /// The judge is over its rate.
        RateLimited = "rate_limited",
        /// The judge cannot be reached or cannot answer now.
        Unavailable = "unavailable",
        /// The judge refused the credentials.
        Unauthenticated = "unauthenticated",
        /// The answer is malformed: not a probability, missing, unknown or repeated.
        Protocol = "protocol",
        /// The judge declined to answer.
        Refused = "refused",
        /// The answer was cut off.
        OutputTruncated = "output_truncated",
        /// The trace is longer than the judge takes.
        TooLong = "too_long",
        /// The judge cut the trace off without saying so.
        TruncatedByJudge = "truncated_by_judge",
        /// The question cannot be decided for this text.
        Undecidable = "undecidable",
        /// The judge does not know the language.
        UnsupportedLanguage = "unsupported_language",
        /// Too little probability mass lies on the labels.
        LowLabelMass = "low_label_mass",
        /// The judge gives no log-probabilities.
        LogprobsUnsupported = "logprobs_unsupported",
        /// Another model answered than the one expected.
        ModelMismatch = "model_mismatch",
        /// The spend cap is reached.
        Budget = "budget",
        /// The breaker of the judge is open.
        BreakerOpen = "breaker_open",
        /// Too many calls wait for the judge.
        Overloaded = "overloaded",
    }
}
