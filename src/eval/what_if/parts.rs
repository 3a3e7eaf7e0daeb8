//! Parts of lines that are read without a copy: texts, maps of cells, lists that are only counted.
//!
//! Nothing here builds a tree of values; what is not needed is skipped.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::recorded::{Cell, JudgedCell, Whole, whole_slot};
use crate::domain::failure::{FailureReason, NotApplicableReason};
use crate::domain::judgment::{JudgmentSource, SeenFraction};
use crate::domain::probability::Probability;

/// A cell that can be read from a line.
pub trait ReadCell<'a>: Deserialize<'a> {
    /// The cell.
    fn cell(self) -> Cell<'a>;
}

/// A text that is borrowed from the line unless it has escapes.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Text<'a>(pub Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reading;

        impl<'de> Visitor<'de> for Reading {
            type Value = Text<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
        }

        deserializer.deserialize_str(Reading)
    }
}

/// How many values a list has.
#[derive(Debug, Default)]
pub struct Count(pub usize);

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Counting;

        impl<'de> Visitor<'de> for Counting {
            type Value = Count;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Count, A::Error> {
                let mut count = 0;
                while list.next_element::<IgnoredAny>()?.is_some() {
                    count += 1;
                }
                Ok(Count(count))
            }
        }

        deserializer.deserialize_seq(Counting)
    }
}

/// A number alone, as replay rows have it.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub struct Bare(Probability);

impl<'a> ReadCell<'a> for Bare {
    fn cell(self) -> Cell<'a> {
        Cell::Judged(JudgedCell::plain(self.0))
    }
}

/// Cells by chunk id.
#[derive(Debug)]
pub struct ByChunk<'a, C> {
    /// The ids.
    pub ids: Vec<Cow<'a, str>>,
    /// The cells in the same order.
    pub cells: Vec<Cell<'a>>,
    kind: PhantomData<C>,
}

impl<C> Default for ByChunk<'_, C> {
    fn default() -> Self {
        Self {
            ids: Vec::new(),
            cells: Vec::new(),
            kind: PhantomData,
        }
    }
}

/// The chunks that most traces have.
const USUAL_CHUNK_COUNT: usize = 8;

impl<'de, C: ReadCell<'de>> Deserialize<'de> for ByChunk<'de, C> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ByChunkVisitor(PhantomData))
    }
}

struct ByChunkVisitor<C>(PhantomData<C>);

impl<'de, C: ReadCell<'de>> Visitor<'de> for ByChunkVisitor<C> {
    type Value = ByChunk<'de, C>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("judgments by chunk id")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut chunks = ByChunk {
            ids: Vec::with_capacity(USUAL_CHUNK_COUNT),
            cells: Vec::with_capacity(USUAL_CHUNK_COUNT),
            kind: PhantomData,
        };
        while let Some((Text(id), cell)) = map.next_entry::<Text<'de>, C>()? {
            if chunks.ids.contains(&id) {
                return Err(A::Error::custom(format!("`{id}` is there twice")));
            }
            chunks.ids.push(id);
            chunks.cells.push(cell.cell());
        }
        Ok(chunks)
    }
}

/// Cells in the order of the trace.
#[derive(Debug, Default)]
pub struct InOrder<'a>(pub Vec<Cell<'a>>);

impl<'de: 'a, 'a> Deserialize<'de> for InOrder<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reading;

        impl<'de> Visitor<'de> for Reading {
            type Value = Vec<Cell<'de>>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of judgments")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut cells = Vec::with_capacity(USUAL_CHUNK_COUNT);
                while let Some(Full(cell)) = list.next_element()? {
                    cells.push(cell);
                }
                Ok(cells)
            }
        }

        deserializer.deserialize_seq(Reading).map(Self)
    }
}

/// Puts a cell where a whole-trace dimension has its place; `false` if there is none of that name.
pub fn put<'de, A: MapAccess<'de>, C: ReadCell<'de>>(
    whole: &mut Whole<'de>,
    name: &str,
    map: &mut A,
) -> Result<bool, A::Error> {
    let Some(slot) = whole_slot(name) else {
        return Ok(false);
    };
    if !matches!(whole[slot], Cell::Absent) {
        return Err(A::Error::custom(format!("`{name}` is there twice")));
    }
    whole[slot] = map.next_value::<C>()?.cell();
    Ok(true)
}

/// What the objects of all kinds of files say about one question, by the names that each has.
#[derive(Debug, Default)]
pub struct Said<'a> {
    /// P(true).
    pub probability: Option<Probability>,
    /// The judge.
    pub judge_id: Option<Cow<'a, str>>,
    /// What kind of number it is.
    pub source: Option<JudgmentSource>,
    /// Share of the text that the judge saw.
    pub seen_fraction: Option<f64>,
    /// Whether a guard forbids a PASS.
    pub vetoes_pass: bool,
    /// Why the question does not apply.
    pub not_applicable: Option<NotApplicableReason>,
    /// Why the judge did not answer.
    pub failed: Option<FailureReason>,
}

impl<'de> Said<'de> {
    /// Reads one field; what the rules do not heed is skipped.
    pub fn field<A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error> {
        match name {
            "probability" => self.probability = Some(map.next_value()?),
            "judge_id" => self.judge_id = Some(map.next_value::<Text<'de>>()?.0),
            "source" => self.source = Some(map.next_value()?),
            "seen_fraction" => self.seen_fraction = Some(map.next_value()?),
            "vetoes_pass" => self.vetoes_pass = map.next_value()?,
            "not_applicable" | "not_applicable_reason" => {
                self.not_applicable = Some(map.next_value()?);
            }
            "failed" | "failure_reason" => self.failed = Some(map.next_value()?),
            _ => {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }

    /// Exactly one of a probability, a structural reason and a failure.
    pub fn cell<E: Error>(self) -> Result<Cell<'de>, E> {
        match (self.probability, self.not_applicable, self.failed) {
            (Some(probability), None, None) => {
                let seen = self.seen_fraction.unwrap_or(1.0);
                Ok(Cell::Judged(JudgedCell {
                    probability,
                    judge_id: self.judge_id,
                    source: self.source,
                    seen: SeenFraction::new(seen).ok_or_else(|| {
                        E::custom(format!(
                            "seen_fraction: `{seen}` must be above 0 and at most 1"
                        ))
                    })?,
                    vetoes_pass: self.vetoes_pass,
                }))
            }
            (None, Some(reason), None) => Ok(Cell::NotApplicable(reason)),
            (None, None, Some(reason)) => Ok(Cell::Failed(reason)),
            _ => Err(E::custom(
                "a judgment is exactly one of a probability, a structural reason and a failure",
            )),
        }
    }
}

/// A judgment: an object, or a number alone where a file has that short form.
#[derive(Debug)]
pub struct Full<'a>(Cell<'a>);

impl<'a> ReadCell<'a> for Full<'a> {
    fn cell(self) -> Cell<'a> {
        self.0
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Full<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FullVisitor).map(Full)
    }
}

struct FullVisitor;

impl<'de> Visitor<'de> for FullVisitor {
    type Value = Cell<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a judgment")
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Cell<'de>, E> {
        let probability = Probability::try_from(number).map_err(E::custom)?;
        Ok(Cell::Judged(JudgedCell::plain(probability)))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Cell<'de>, E> {
        self.visit_f64(number as f64)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Cell<'de>, E> {
        self.visit_f64(number as f64)
    }

    /// Absent, as a list by chunk has it.
    fn visit_unit<E: Error>(self) -> Result<Cell<'de>, E> {
        Ok(Cell::Absent)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Cell<'de>, A::Error> {
        let mut said = Said::default();
        while let Some(Text(name)) = map.next_key::<Text<'de>>()? {
            said.field(&name, &mut map)?;
        }
        said.cell()
    }
}
