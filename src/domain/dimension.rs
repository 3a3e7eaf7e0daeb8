//! Dimensions: the atomic yes/no questions that a judge answers about a trace.

use std::ops::{Index, IndexMut};

use super::Vocabulary as _;
use super::vocabulary;

vocabulary! {
    /// One atomic yes/no question.
    "dimension"
    pub enum Dimension {
        /// Does the chunk hold information relevant to the question? Asked once per chunk.
        ChunkRelevance = "chunk_relevance",
        /// Does the context as a whole suffice to answer the question?
        ContextSufficiency = "context_sufficiency",
        /// Does the context hold materially conflicting evidence?
        ContextConflict = "context_conflict",
        /// Does the answer address the question directly?
        AnswerRelevance = "answer_relevance",
        /// Is the answer supported by the context?
        Groundedness = "groundedness",
        /// Does the answer contradict the context?
        Contradiction = "contradiction",
        /// Is the answer consistent with the reference answer?
        Correctness = "correctness",
    }
}

vocabulary! {
    /// Whether true is good.
    "polarity"
    pub enum Polarity {
        /// True is good.
        GoodWhenTrue = "good_when_true",
        /// True is bad.
        BadWhenTrue = "bad_when_true",
    }
}

vocabulary! {
    /// What a dimension may do in a policy.
    "dimension role"
    pub enum DimensionRole {
        /// It must be good for a PASS, and its bad end decides.
        Required = "required",
        /// Its bad end decides; otherwise it blocks nothing.
        Advisory = "advisory",
        /// It is not asked.
        Off = "off",
    }
}

impl Dimension {
    /// How many there are.
    pub const COUNT: usize = 7;
    /// Those about retrieval, in the order of the precedence.
    pub const RETRIEVAL: [Self; 3] = [
        Self::ContextConflict,
        Self::ChunkRelevance,
        Self::ContextSufficiency,
    ];
    /// Those about the answer, in the order of the precedence.
    pub const GENERATION: [Self; 4] = [
        Self::AnswerRelevance,
        Self::Groundedness,
        Self::Contradiction,
        Self::Correctness,
    ];

    /// Whether true is good. Exactly two dimensions are bad when true.
    pub const fn polarity(self) -> Polarity {
        match self {
            Self::ContextConflict | Self::Contradiction => Polarity::BadWhenTrue,
            Self::ChunkRelevance
            | Self::ContextSufficiency
            | Self::AnswerRelevance
            | Self::Groundedness
            | Self::Correctness => Polarity::GoodWhenTrue,
        }
    }

    /// Whether the question is about the answer and not about retrieval.
    pub fn is_generation(self) -> bool {
        Self::GENERATION.contains(&self)
    }
}

/// One value for every dimension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DimensionMap<T>([T; Dimension::COUNT]);

impl<T> DimensionMap<T> {
    /// Asks `value` for every dimension.
    pub fn from_fn(value: impl FnMut(Dimension) -> T) -> Self {
        let mut value = value;
        Self(std::array::from_fn(|index| value(Dimension::ALL[index])))
    }

    /// Every dimension with its value, in order.
    pub fn iter(&self) -> impl Iterator<Item = (Dimension, &T)> {
        Dimension::ALL.iter().copied().zip(&self.0)
    }
}

impl<T> Index<Dimension> for DimensionMap<T> {
    type Output = T;

    fn index(&self, dimension: Dimension) -> &T {
        &self.0[dimension.index()]
    }
}

impl<T> IndexMut<Dimension> for DimensionMap<T> {
    fn index_mut(&mut self, dimension: Dimension) -> &mut T {
        &mut self.0[dimension.index()]
    }
}

/// A set of dimensions, iterated in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DimensionSet(u8);

impl DimensionSet {
    /// No dimension.
    pub const EMPTY: Self = Self(0);
    /// Every dimension.
    pub const ALL: Self = Self((1 << Dimension::COUNT) - 1);

    /// Adds a dimension.
    pub fn insert(&mut self, dimension: Dimension) {
        self.0 |= 1 << dimension.index();
    }

    /// Whether it holds the dimension.
    pub fn contains(self, dimension: Dimension) -> bool {
        self.0 & (1 << dimension.index()) != 0
    }

    /// Whether it holds none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Its dimensions in order.
    pub fn iter(self) -> impl Iterator<Item = Dimension> {
        Dimension::ALL
            .iter()
            .copied()
            .filter(move |&dimension| self.contains(dimension))
    }
}

impl FromIterator<Dimension> for DimensionSet {
    fn from_iter<I: IntoIterator<Item = Dimension>>(dimensions: I) -> Self {
        let mut set = Self::EMPTY;
        for dimension in dimensions {
            set.insert(dimension);
        }
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_conflict_and_contradiction_are_bad_when_true() {
        let bad: Vec<_> = Dimension::ALL
            .iter()
            .copied()
            .filter(|dimension| dimension.polarity() == Polarity::BadWhenTrue)
            .collect();
        assert_eq!(bad, [Dimension::ContextConflict, Dimension::Contradiction]);
    }

    #[test]
    fn retrieval_and_generation_cover_every_dimension_once() {
        let mut all: Vec<_> = Dimension::RETRIEVAL
            .into_iter()
            .chain(Dimension::GENERATION)
            .collect();
        all.sort();
        assert_eq!(all, Dimension::ALL);
    }

    #[test]
    fn a_set_iterates_in_the_order_of_the_dimensions() {
        let set: DimensionSet = [Dimension::Correctness, Dimension::ChunkRelevance]
            .into_iter()
            .collect();
        let listed: Vec<_> = set.iter().collect();
        assert_eq!(listed, [Dimension::ChunkRelevance, Dimension::Correctness]);
        assert_eq!(DimensionSet::ALL.iter().count(), Dimension::COUNT);
    }
}
