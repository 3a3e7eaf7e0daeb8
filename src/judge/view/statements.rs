//! The statements of the answer that a judge is asked about one by one.
//!
//! They are those that came with the trace, else those of the answer as it is shown. A place in the answer is told only
//! if that is shown as it is.

use std::ops::Range;

use super::parts::Texts;
use crate::domain::trace::Trace;
use crate::text::statements::{Statement, decidable_statements};

/// A statement of the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViewStatement {
    /// The statement as it is told to the caller.
    pub text: String,
    /// The statement as it is shown to the judge.
    pub shown: String,
    /// Where it stands in the answer, in code points; `None` if it does not stand there as it is.
    pub span: Option<Range<usize>>,
    /// Whether it says enough to be asked about.
    pub is_decidable: bool,
    /// Whether it claims something, if only too little to be asked about.
    pub is_claim: bool,
}

impl ViewStatement {
    /// The statements of a trace whose answer and statements are shown as these texts.
    pub(super) fn all_of(trace: &Trace, texts: &Texts<'_>) -> Vec<Self> {
        if !trace.statements.is_empty() {
            let given = decidable_statements(&trace.statements, "").into_iter();
            let shown = given.zip(&texts.statements);
            return shown
                .map(|(statement, shown)| Self::new(&statement, shown))
                .collect();
        }
        let is_original = texts.answer == trace.answer;
        let own = decidable_statements(&[], &texts.answer).into_iter();
        own.map(|statement| Self {
            span: statement.span.clone().filter(|_| is_original),
            ..Self::new(&statement, statement.text)
        })
        .collect()
    }

    fn new(statement: &Statement<'_>, shown: &str) -> Self {
        Self {
            text: statement.text.to_owned(),
            shown: shown.to_owned(),
            span: None,
            is_decidable: statement.is_decidable,
            is_claim: statement.is_claim,
        }
    }
}
