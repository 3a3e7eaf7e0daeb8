//! What a judge may cost.

use crate::cascade::spend::SpendOptions;
use crate::config::raw::remote::Spend;
use crate::config::reader::Reader;
use crate::domain::outcome::NanoUsd;

/// The largest cap in US dollars.
const MAX_USD: f64 = 1_000_000.0;
/// The largest cap in calls.
const MAX_CALLS: i64 = 1_000_000_000;
/// Parts of a US dollar that are counted.
const NANO: f64 = 1e9;

/// Reads the caps; none is unlimited.
pub(super) fn spend(reader: &mut Reader<'_, '_>, name: &str, written: &Spend) -> SpendOptions {
    let mut usd = |key, written| money(reader, &["judges", name, "spend", key], written);
    let (usd_per_minute, usd_per_day) = (
        usd("usd_per_minute", written.usd_per_minute),
        usd("usd_per_day", written.usd_per_day),
    );
    let mut calls =
        |key, written| reader.optional(&["judges", name, "spend", key], written, 0..=MAX_CALLS);
    SpendOptions {
        usd_per_minute,
        usd_per_day,
        calls_per_minute: calls("calls_per_minute", written.calls_per_minute),
        calls_per_day: calls("calls_per_day", written.calls_per_day),
    }
}

fn money(reader: &mut Reader<'_, '_>, path: &[&str], written: Option<f64>) -> Option<NanoUsd> {
    let usd = written?;
    let nano = (usd * NANO).round();
    if (0.0..=MAX_USD).contains(&usd) && (nano > 0.0 || usd == 0.0) {
        return Some(NanoUsd(nano as i64));
    }
    reader.problem(
        path,
        format!("`{usd}` must be US dollars from 0 to {MAX_USD}, in steps of 1e-9"),
    );
    None
}
