//! The single questions of one trace.
//!
//! A whole-trace dimension is one question, chunk relevance is one question per chunk.
//! [`PerQuestion`] keeps one value for each in one row, so that judgments, answers and sets of questions share a shape.

use std::ops::{Index, IndexMut};

use super::Vocabulary as _;
use super::dimension::{Dimension, DimensionSet};

/// Whole-trace questions stand first in the row.
const WHOLE_COUNT: usize = Dimension::COUNT - 1;

/// One question about one trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Question(usize);

impl Question {
    /// The question about a whole-trace dimension; for chunk relevance the question about the first chunk.
    pub fn about(dimension: Dimension) -> Self {
        match dimension {
            Dimension::ChunkRelevance => Self::chunk(0),
            // Chunk relevance is the first of the dimensions, so the others follow one place down.
            whole => Self(whole.index() - 1),
        }
    }

    /// The question about the relevance of a chunk, by ordinal.
    pub const fn chunk(ordinal: usize) -> Self {
        Self(WHOLE_COUNT + ordinal)
    }

    /// The dimension that is asked about.
    pub fn dimension(self) -> Dimension {
        if self.0 < WHOLE_COUNT {
            Dimension::ALL[self.0 + 1]
        } else {
            Dimension::ChunkRelevance
        }
    }

    /// The ordinal of the chunk that is asked about.
    pub const fn chunk_ordinal(self) -> Option<usize> {
        self.0.checked_sub(WHOLE_COUNT)
    }
}

/// One value for every question of a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PerQuestion<T>(Vec<T>);

impl<T> PerQuestion<T> {
    /// Asks `value` for every question about a trace with so many chunks.
    pub fn from_fn(chunk_count: usize, value: impl FnMut(Question) -> T) -> Self {
        Self(
            (0..WHOLE_COUNT + chunk_count)
                .map(Question)
                .map(value)
                .collect(),
        )
    }

    /// How many chunks the trace has.
    pub fn chunk_count(&self) -> usize {
        self.0.len() - WHOLE_COUNT
    }

    /// The values of a dimension: one for a whole-trace dimension, one per chunk for chunk relevance.
    pub fn of(&self, dimension: Dimension) -> &[T] {
        match dimension {
            Dimension::ChunkRelevance => &self.0[WHOLE_COUNT..],
            whole => std::slice::from_ref(&self[Question::about(whole)]),
        }
    }

    /// Every question with its value: whole-trace dimensions in order, then chunks in order.
    pub fn iter(&self) -> impl Iterator<Item = (Question, &T)> {
        self.0
            .iter()
            .enumerate()
            .map(|(index, value)| (Question(index), value))
    }

    /// The same for other values.
    pub fn map<U>(&self, map: impl Fn(Question, &T) -> U) -> PerQuestion<U> {
        PerQuestion(
            self.iter()
                .map(|(question, value)| map(question, value))
                .collect(),
        )
    }
}

impl<T> Index<Question> for PerQuestion<T> {
    type Output = T;

    fn index(&self, question: Question) -> &T {
        &self.0[question.0]
    }
}

impl<T> IndexMut<Question> for PerQuestion<T> {
    fn index_mut(&mut self, question: Question) -> &mut T {
        &mut self.0[question.0]
    }
}

/// A set of questions about one trace.
pub type QuestionSet = PerQuestion<bool>;

impl QuestionSet {
    /// The questions in the set: whole-trace dimensions in order, then chunks in order.
    pub fn asked(&self) -> impl Iterator<Item = Question> {
        self.iter()
            .filter(|(_, asked)| **asked)
            .map(|(question, _)| question)
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.asked().next().is_none()
    }

    /// The dimensions that at least one question of the set is about.
    pub fn dimensions(&self) -> DimensionSet {
        self.asked().map(Question::dimension).collect()
    }

    /// The questions that are about one of `dimensions`.
    #[must_use]
    pub fn restricted_to(&self, dimensions: DimensionSet) -> Self {
        self.map(|question, asked| *asked && dimensions.contains(question.dimension()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_question_knows_its_dimension_and_chunk() {
        for &dimension in Dimension::ALL {
            assert_eq!(Question::about(dimension).dimension(), dimension);
        }
        assert_eq!(Question::chunk(3).dimension(), Dimension::ChunkRelevance);
        assert_eq!(Question::chunk(3).chunk_ordinal(), Some(3));
        assert_eq!(
            Question::about(Dimension::Correctness).chunk_ordinal(),
            None
        );
    }

    #[test]
    fn a_dimension_has_one_value_or_one_per_chunk() {
        let row = PerQuestion::from_fn(2, |question| question);
        assert_eq!(row.chunk_count(), 2);
        assert_eq!(
            row.of(Dimension::ChunkRelevance),
            [Question::chunk(0), Question::chunk(1)]
        );
        assert_eq!(
            row.of(Dimension::Groundedness),
            [Question::about(Dimension::Groundedness)]
        );
        assert!(
            PerQuestion::from_fn(0, |_| ())
                .of(Dimension::ChunkRelevance)
                .is_empty()
        );
    }

    #[test]
    fn a_set_restricted_to_dimensions_keeps_only_their_questions() {
        let all = QuestionSet::from_fn(2, |_| true);
        let chunks = all.restricted_to([Dimension::ChunkRelevance].into_iter().collect());
        let asked: Vec<_> = chunks.asked().collect();
        assert_eq!(asked, [Question::chunk(0), Question::chunk(1)]);
        assert!(chunks.restricted_to(DimensionSet::EMPTY).is_empty());
    }
}
