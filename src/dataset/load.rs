//! Datasets from files: one pass that finds everything that is wrong, then rows one by one in constant memory.
//!
//! A pass holds one line at a time. To find an id that stands twice, the first also keeps 20 bytes a row: 16 of a
//! digest of the id and 4 of its line.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;

use super::check::{self, Ids};
use super::record::Record;
use crate::artifact::bounded;
use crate::artifact::digest::Hashing;
use crate::artifact::lines::{self, Line, LineErrors, LineReader, Place};
use crate::domain::Vocabulary as _;
use crate::domain::outcome::DecisionVariant;

/// The most names of slices that the rows of a dataset may have together.
pub const MAX_SLICE_COUNT: usize = 100_000;
/// Bytes that are read from the file at once.
const READ_BYTES: usize = 256 * 1024;

/// What a first pass over a dataset finds out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Survey {
    /// The name of the file, without its folder.
    pub file: String,
    /// SHA-256 of the bytes of the file.
    pub sha256: String,
    /// Rows.
    pub row_count: u64,
    /// Rows with a labelled diagnosis.
    pub labelled_diagnosis_count: u64,
    /// Rows by the name of each slice: `tag=`, `language=`, `generator_model=` and `variant=` with the value.
    pub slices: BTreeMap<String, u64>,
}

/// Why a dataset cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DatasetError {
    /// It cannot be read.
    #[error("cannot read `{file}`: {reason}")]
    Io {
        /// The file.
        file: String,
        /// Why.
        reason: io::Error,
    },
    /// Lines are wrong.
    #[error("{0}")]
    Lines(LineErrors),
    /// It has no row.
    #[error("{0} holds no row")]
    Empty(String),
    /// Its rows have too many names of slices.
    #[error(
        "{0} has more than {MAX_SLICE_COUNT} different tags, languages and models; they are for grouping rows, so many \
         rows should share each"
    )]
    TooManySlices(String),
}

/// One row and its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The place among the rows, from 0; blank lines do not count.
    pub index: u64,
    /// Its line in the file.
    pub place: Place,
    /// The row.
    pub record: Record,
}

/// Reads a whole dataset, keeps nothing of it, and tells everything that is wrong.
///
/// What is too large for the limits of a configuration is not wrong here: whoever diagnoses the rows tells those apart.
pub fn survey(path: &Path) -> Result<Survey, DatasetError> {
    let mut pass = FirstPass::default();
    let mut reader = open(path)?;
    pass.read(path, &mut reader)?;
    pass.finish(path, reader.into_inner().into_inner().sha256_hex())
}

/// The rows of a dataset in order; nothing but the shape of each is checked again.
pub fn rows(path: &Path) -> Result<impl Iterator<Item = Result<Row, DatasetError>>, DatasetError> {
    let mut reader = open(path)?;
    let name = path.to_owned();
    let mut index = 0..;
    let mut is_broken = false;
    Ok(std::iter::from_fn(move || {
        if is_broken {
            return None;
        }
        let line = match reader.next_line() {
            Ok(line) => line?,
            Err(source) => {
                is_broken = true;
                return Some(Err(unreadable(&name, source)));
            }
        };
        let row = line.and_then(|line| {
            let record = lines::parse(&line.place, line.text)?;
            Ok((line.place, record))
        });
        let index = index.next()?;
        Some(match row {
            Ok((place, record)) => Ok(Row {
                index,
                place,
                record,
            }),
            Err(error) => Err(DatasetError::Lines(error.into())),
        })
    }))
}

/// The slices that a row belongs to, each once.
///
/// Tags of languages do not depend on case, so they are written in lower case.
pub fn slices_of(record: &Record) -> Vec<String> {
    let variant = match record.reference_answer {
        Some(_) => DecisionVariant::WithReference,
        None => DecisionVariant::WithoutReference,
    };
    let mut slices = vec![format!("variant={}", variant.name())];
    if let Some(language) = &record.language {
        slices.push(format!("language={}", language.to_ascii_lowercase()));
    }
    if let Some(model) = &record.generator_model {
        slices.push(format!("generator_model={model}"));
    }
    slices.extend(record.tags.iter().map(|tag| format!("tag={tag}")));
    slices.sort_unstable();
    slices.dedup();
    slices
}

/// What the first pass keeps.
#[derive(Default)]
struct FirstPass {
    survey: Survey,
    ids: Ids,
    errors: LineErrors,
    has_too_many_slices: bool,
}

impl FirstPass {
    fn read(&mut self, path: &Path, reader: &mut Reader) -> Result<(), DatasetError> {
        while let Some(line) = reader
            .next_line()
            .map_err(|source| unreadable(path, source))?
        {
            self.survey.row_count += 1;
            let line = match line {
                Ok(line) => line,
                Err(error) => {
                    self.errors.add(error);
                    continue;
                }
            };
            match lines::parse::<Record>(&line.place, line.text) {
                Ok(record) => self.row(&line.place, record),
                Err(error) => {
                    self.errors.add(error);
                    self.id_alone(&line);
                }
            }
        }
        Ok(())
    }

    /// A row that is wrong otherwise still takes its id, so that a second one is found in the same pass.
    fn id_alone(&mut self, line: &Line<'_>) {
        #[derive(serde::Deserialize)]
        struct Id {
            id: String,
        }
        if let Ok(Id { id }) = lines::parse(&line.place, line.text) {
            self.id(&line.place, &id);
        }
    }

    fn id(&mut self, place: &Place, id: &str) {
        if let Err(problem) = self.ids.add(id, place.line) {
            self.errors.add(place.error(problem));
        }
    }

    fn row(&mut self, place: &Place, record: Record) {
        self.id(place, &record.id);
        let label = record.expected.as_ref().and_then(|said| said.diagnosis);
        self.survey.labelled_diagnosis_count += u64::from(label.is_some());
        for slice in slices_of(&record) {
            self.slice(slice);
        }
        for problem in check::problems(record) {
            self.errors.add(place.error(problem));
        }
    }

    fn slice(&mut self, name: String) {
        let slices = &mut self.survey.slices;
        if let Some(count) = slices.get_mut(&name) {
            *count += 1;
        } else if slices.len() < MAX_SLICE_COUNT {
            slices.insert(name, 1);
        } else {
            self.has_too_many_slices = true;
        }
    }

    fn finish(mut self, path: &Path, sha256: String) -> Result<Survey, DatasetError> {
        let name = path.display().to_string();
        for (line, first) in self.ids.duplicates() {
            let place = Place {
                file: name.clone(),
                line,
            };
            let problem = format!("id: is the same as in line {first}");
            self.errors.add(place.error(problem));
        }
        if !self.errors.is_empty() {
            return Err(DatasetError::Lines(self.errors));
        }
        if self.has_too_many_slices {
            return Err(DatasetError::TooManySlices(name));
        }
        if self.survey.row_count == 0 {
            return Err(DatasetError::Empty(name));
        }
        let file = path.file_name().unwrap_or(path.as_os_str());
        Ok(Survey {
            file: file.to_string_lossy().into_owned(),
            sha256,
            ..self.survey
        })
    }
}

type Reader = LineReader<BufReader<Hashing<File>>>;

fn open(path: &Path) -> Result<Reader, DatasetError> {
    let file = bounded::open(path).map_err(|source| unreadable(path, source))?;
    let reader = BufReader::with_capacity(READ_BYTES, Hashing::new(file));
    Ok(LineReader::new(path.display().to_string(), reader))
}

fn unreadable(path: &Path, reason: io::Error) -> DatasetError {
    DatasetError::Io {
        file: path.display().to_string(),
        reason,
    }
}

#[cfg(test)]
mod tests;
