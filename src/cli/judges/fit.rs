//! `judges fit`: fits the model of the embedded judge to labelled datasets.
//!
//! Of each row the statement with the smallest `window` stands for the row's label of groundedness; a row counts 1, or
//! less if its dataset has more than 800 labelled rows, so that those of a dataset weigh 800 together at most. The scaling of Platt is fitted to scores
//! that each row got from a model fitted without its fifth of the contexts. Rows are put in an order of their own first
//! and numbers are written to six decimals, so the same rows give the same bytes, in whatever order they come.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::artifact::digest::sha256;
use crate::artifact::replace;
use crate::cli::{End, output};
use crate::dataset::load;
use crate::dataset::record::Record;
use crate::domain::Vocabulary as _;
use crate::domain::dimension::Dimension;
use crate::domain::trace::TraceLimits;
use crate::judge::embedded::features::{COUNT, Features, NAMES, SUPPORTING_COUNT};
use crate::judge::embedded::model::{DataCard, Fitted, Model, SCHEMA_VERSION, Weight};
use crate::judge::embedded::{self, MODEL};
use crate::stats::logistic::{Observation, Sign, fit, platt, scaling};

/// What the rows of a dataset weigh together at most.
const EFFECTIVE_ROWS: f64 = 800.0;
/// The penalty on squared coefficients.
const PENALTY: f64 = 1.0;
/// Parts of the contexts for the scaling.
const FOLDS: u8 = 5;

/// Which datasets, and where the model goes.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// JSONL files of traces whose rows have a label of groundedness.
    #[arg(value_name = "DATA", required = true)]
    data: Vec<PathBuf>,
    /// The file to write the model to; without it, it goes to standard output.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// A row as far as it is fitted.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Labelled {
    features: Features,
    is_supported: bool,
    weight: f64,
    fold: u8,
}

pub(super) fn run(args: &Args) -> anyhow::Result<End> {
    let mut cards = Vec::new();
    let mut rows = Vec::new();
    for path in &args.data {
        let (card, mut read) = read(path)?;
        output::note(&format!(
            "{}: {} rows, {} with a label and a statement that words decide",
            card.file, card.row_count, card.used_count
        ));
        cards.push(card);
        rows.append(&mut read);
    }
    cards.sort_unstable();
    rows.sort_by_key(Labelled::key);
    let fitted = fitted(&rows).context("cannot fit the model")?;
    let model = Model {
        schema_version: SCHEMA_VERSION,
        version: MODEL.to_owned(),
        command: "judge-cascade judges fit DATA...".to_owned(),
        data: cards,
        dimensions: [(Dimension::Groundedness.name().to_owned(), fitted)].into(),
    };
    let text = serde_json::to_string_pretty(&model)? + "\n";
    match &args.out {
        Some(file) => replace::replace(file, text.as_bytes())
            .with_context(|| format!("cannot write `{}`", file.display()))?,
        None => output::line(text.trim_end())?,
    }
    Ok(End::Good)
}

/// The labelled rows of a dataset and its card.
fn read(path: &Path) -> anyhow::Result<(DataCard, Vec<Labelled>)> {
    let survey = load::survey(path)?;
    let mut labelled = Vec::new();
    for row in load::rows(path)? {
        let row = row?;
        let place = row.place.clone();
        if let Some(row) = labelled_row(row.record).with_context(|| place.to_string())? {
            labelled.push(row);
        }
    }
    let weight = (EFFECTIVE_ROWS / labelled.len().max(1) as f64).min(1.0);
    for row in &mut labelled {
        row.weight = weight;
    }
    let positives = labelled.iter().filter(|row| row.is_supported).count();
    let card = DataCard {
        file: survey.file,
        sha256: survey.sha256,
        row_count: survey.row_count,
        used_count: labelled.len() as u64,
        positive_count: positives as u64,
    };
    Ok((card, labelled))
}

/// A row with a label and a decidable statement.
fn labelled_row(record: Record) -> anyhow::Result<Option<Labelled>> {
    let expected = record.expected.as_ref();
    let generation = expected.and_then(|expected| expected.generation.as_ref());
    let Some(is_supported) = generation.and_then(|generation| generation.groundedness) else {
        return Ok(None);
    };
    let limits = TraceLimits {
        max_chunk_count: usize::MAX,
        max_text_bytes: usize::MAX,
        max_history_turns: usize::MAX,
    };
    let trace = record.trace(&limits)?;
    let texts = trace.chunks.iter().map(|chunk| chunk.text.as_str());
    let fold = sha256(texts.collect::<Vec<_>>().join("\0").as_bytes())[0] % FOLDS;
    let each = embedded::features(&trace).into_iter();
    let worst = each.reduce(|worst, next| if next[0] < worst[0] { next } else { worst });
    Ok(worst.map(|features| Labelled {
        features,
        is_supported,
        weight: 1.0,
        fold,
    }))
}

fn fitted(rows: &[Labelled]) -> anyhow::Result<Fitted> {
    let mut scored = Vec::with_capacity(rows.len());
    for fold in 0..FOLDS {
        let others: Vec<_> = rows
            .iter()
            .filter(|row| row.fold != fold)
            .copied()
            .collect();
        let held_out = rows.iter().filter(|row| row.fold == fold);
        let model = line(&others)?;
        scored
            .extend(held_out.map(|row| (model.logit(&row.features), row.is_supported, row.weight)));
    }
    let (slope, offset) = platt(&scored)?;
    Ok(Fitted {
        platt_slope: rounded(slope),
        platt_offset: rounded(offset),
        ..line(rows)?
    })
}

/// The regression without its scaling.
fn line(rows: &[Labelled]) -> anyhow::Result<Fitted> {
    let mut observations: Vec<_> = rows
        .iter()
        .map(|row| Observation {
            values: row.features.to_vec(),
            target: f64::from(u8::from(row.is_supported)),
            weight: row.weight,
        })
        .collect();
    let (means, scales) = scaling(&observations)?;
    for row in &mut observations {
        for (at, value) in row.values.iter_mut().enumerate() {
            *value = (*value - means[at]) / scales[at];
        }
    }
    let signs: [Sign; COUNT] = std::array::from_fn(|at| {
        if at < SUPPORTING_COUNT {
            Sign::AtLeastZero
        } else {
            Sign::AtMostZero
        }
    });
    let line = fit(&observations, &signs, PENALTY)?;
    let weights = (0..COUNT).map(|at| Weight {
        name: NAMES[at].to_owned(),
        coefficient: rounded(line.coefficients[at]),
        mean: rounded(means[at]),
        scale: rounded(scales[at]),
    });
    Ok(Fitted {
        intercept: rounded(line.intercept),
        features: weights.collect(),
        platt_slope: 1.0,
        platt_offset: 0.0,
    })
}

/// To six decimals; adding 0 turns -0 into 0.
fn rounded(value: f64) -> f64 {
    (value * 1e6).round() / 1e6 + 0.0
}

impl Labelled {
    /// Its place among the rows, whatever order they came in.
    fn key(&self) -> ([u64; COUNT], bool, u64, u8) {
        let bits = self.features.map(f64::to_bits);
        (bits, self.is_supported, self.weight.to_bits(), self.fold)
    }
}
