//! Pricing snapshots: a dated table of prices by model.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::digest::sha256_hex;
use crate::domain::outcome::NanoUsd;
use crate::domain::trace::SnapshotId;
use crate::pricing::{Price, PriceTable};

/// A price table with its identity.
#[derive(Debug, Clone, PartialEq)]
pub struct PricingSnapshot {
    /// Its id and the digest of its file.
    pub id: SnapshotId,
    /// The day on which the prices were taken.
    pub as_of: String,
    /// The prices.
    pub table: PriceTable,
}

/// Why a pricing file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PricingError {
    /// It is not JSON of the right shape.
    #[error("{file}:{}: {error}", error.line())]
    Parse {
        /// The file.
        file: String,
        /// What is wrong.
        error: serde_json::Error,
    },
    /// A value is not allowed.
    #[error("{file}: {path}: {message}")]
    Value {
        /// The file.
        file: String,
        /// The field.
        path: String,
        /// What is wrong.
        message: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    schema_version: u32,
    id: String,
    as_of: String,
    currency: String,
    models: BTreeMap<String, Row>,
}

/// US dollars per million tokens.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    input_usd_per_million_tokens: f64,
    output_usd_per_million_tokens: f64,
    cached_input_usd_per_million_tokens: Option<f64>,
    cache_write_input_usd_per_million_tokens: Option<f64>,
    reasoning_usd_per_million_tokens: Option<f64>,
}

/// Reads a pricing file.
pub fn read(file: &str, text: &str) -> Result<PricingSnapshot, PricingError> {
    let row: File = serde_json::from_str(text).map_err(|error| PricingError::Parse {
        file: file.to_owned(),
        error,
    })?;
    let wrong = |path: &str, message: String| PricingError::Value {
        file: file.to_owned(),
        path: path.to_owned(),
        message,
    };
    if row.schema_version != 1 {
        return Err(wrong(
            "schema_version",
            format!("`{}` is not 1", row.schema_version),
        ));
    }
    if row.id.trim().is_empty() {
        return Err(wrong("id", "must not be blank".to_owned()));
    }
    if row.currency != "USD" {
        return Err(wrong("currency", format!("`{}` is not USD", row.currency)));
    }
    let mut models = BTreeMap::new();
    for (model, prices) in &row.models {
        let price = |field: &str, usd: f64| {
            nano_usd(usd).ok_or_else(|| {
                let message = format!("`{usd}` is not a price from 0 to 1000000 US dollars");
                let path = format!("models.{model}.{field}_usd_per_million_tokens");
                wrong(&path, message)
            })
        };
        let optional = |field: &str, usd: Option<f64>| usd.map(|usd| price(field, usd)).transpose();
        let price = Price {
            input: price("input", prices.input_usd_per_million_tokens)?,
            output: price("output", prices.output_usd_per_million_tokens)?,
            cached_input: optional("cached_input", prices.cached_input_usd_per_million_tokens)?,
            cache_write_input: optional(
                "cache_write_input",
                prices.cache_write_input_usd_per_million_tokens,
            )?,
            reasoning: optional("reasoning", prices.reasoning_usd_per_million_tokens)?,
        };
        models.insert(model.clone(), price);
    }
    let id = SnapshotId {
        id: row.id.into(),
        sha256: sha256_hex(text.as_bytes()).into(),
    };
    Ok(PricingSnapshot {
        id,
        as_of: row.as_of,
        table: PriceTable { models },
    })
}

/// Prices have few decimals, so rounding to 1e-9 dollars restores the number that was written.
fn nano_usd(usd: f64) -> Option<NanoUsd> {
    (0.0..=1e6)
        .contains(&usd)
        .then(|| NanoUsd((usd * 1e9).round() as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = r#"{"schema_version":1,"id":"p1","as_of":"2026-10-01","currency":"USD","models":{
        "m":{"input_usd_per_million_tokens":0.042,"output_usd_per_million_tokens":0}}}"#;

    #[test]
    fn prices_are_read_without_rounding() {
        let snapshot = read("p.json", TABLE).unwrap();
        assert_eq!(snapshot.table.models["m"].input, NanoUsd(42_000_000));
        assert_eq!(&*snapshot.id.id, "p1");
        assert_eq!(snapshot.id.sha256.len(), 64);
    }

    #[test]
    fn a_bad_price_is_named_by_its_path() {
        for bad in ["-1", "1e300"] {
            let error = read("p.json", &TABLE.replace("0.042", bad)).unwrap_err();
            let text = error.to_string();
            assert!(
                text.starts_with("p.json: models.m.input_usd_per_million_tokens: "),
                "{text}"
            );
        }
    }

    #[test]
    fn every_kind_of_token_may_have_a_price() {
        let row = r#"{"input_usd_per_million_tokens":1.25,"cached_input_usd_per_million_tokens":0.125,
            "cache_write_input_usd_per_million_tokens":1.5625,"output_usd_per_million_tokens":10,
            "reasoning_usd_per_million_tokens":7.5}"#;
        let (head, _) = TABLE.split_once("\"m\":").unwrap();
        let text = format!("{head}\"m\":{row}}}}}");
        let price = read("p.json", &text).unwrap().table.models["m"];
        let expected = Price {
            input: NanoUsd(1_250_000_000),
            output: NanoUsd(10_000_000_000),
            cached_input: Some(NanoUsd(125_000_000)),
            cache_write_input: Some(NanoUsd(1_562_500_000)),
            reasoning: Some(NanoUsd(7_500_000_000)),
        };
        assert_eq!(price, expected);
    }

    #[test]
    fn unknown_keys_and_other_currencies_are_refused() {
        assert!(read("p.json", &TABLE.replace("as_of", "asof")).is_err());
        let error = read("p.json", &TABLE.replace("USD\"", "EUR\"")).unwrap_err();
        assert_eq!(error.to_string(), "p.json: currency: `EUR` is not USD");
    }
}
