//! Actions: what the caller should do, so that it need not know nine diagnoses.

use crate::domain::Vocabulary;
use crate::domain::diagnosis::{Action, Diagnosis};

/// An action for every diagnosis, with and without an abstaining answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionTable([[Action; 2]; Diagnosis::ALL.len()]);

impl ActionTable {
    /// The action for a diagnosis.
    pub fn action(&self, diagnosis: Diagnosis, abstained: bool) -> Action {
        self.0[diagnosis.index()][usize::from(abstained)]
    }

    /// Replaces an action.
    pub fn set(&mut self, diagnosis: Diagnosis, abstained: bool, action: Action) {
        self.0[diagnosis.index()][usize::from(abstained)] = action;
    }

    /// Every entry in the order of the diagnoses, without abstention first.
    pub fn iter(&self) -> impl Iterator<Item = (Diagnosis, bool, Action)> {
        Diagnosis::ALL.iter().flat_map(|&diagnosis| {
            [false, true].map(|abstained| (diagnosis, abstained, self.action(diagnosis, abstained)))
        })
    }
}

impl Default for ActionTable {
    /// An answer that says it found nothing does no harm where retrieval found nothing.
    fn default() -> Self {
        let action = |diagnosis, abstained| match diagnosis {
            Diagnosis::Pass | Diagnosis::JudgeUncertain | Diagnosis::NotAssessable => Action::Allow,
            Diagnosis::RetrievalMiss | Diagnosis::RetrievalInsufficient if abstained => {
                Action::Allow
            }
            Diagnosis::RetrievalMiss
            | Diagnosis::RetrievalInsufficient
            | Diagnosis::ConflictingEvidence => Action::Warn,
            Diagnosis::AnswerIrrelevant
            | Diagnosis::GeneratorUngrounded
            | Diagnosis::AnswerIncorrect => Action::Block,
        };
        Self(std::array::from_fn(|index| {
            [false, true].map(|abstained| action(Diagnosis::ALL[index], abstained))
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_abstaining_answer_is_allowed_where_retrieval_failed_and_nowhere_else() {
        let table = ActionTable::default();
        for &diagnosis in Diagnosis::ALL {
            let (plain, abstained) = (
                table.action(diagnosis, false),
                table.action(diagnosis, true),
            );
            match diagnosis {
                Diagnosis::RetrievalMiss | Diagnosis::RetrievalInsufficient => {
                    assert_eq!((plain, abstained), (Action::Warn, Action::Allow));
                }
                _ => assert_eq!(plain, abstained, "{diagnosis}"),
            }
        }
    }

    #[test]
    fn generation_failures_block_and_uncertainty_does_not() {
        let table = ActionTable::default();
        assert_eq!(
            table.action(Diagnosis::GeneratorUngrounded, false),
            Action::Block
        );
        assert_eq!(
            table.action(Diagnosis::JudgeUncertain, false),
            Action::Allow
        );
        assert_eq!(
            table.action(Diagnosis::ConflictingEvidence, true),
            Action::Warn
        );
    }
}
