//! How numbers are written for readers: the one place that rounds.
//!
//! A number that is absent is written as the reason why, never as zero; a cost that is not known is `unknown`.

use super::model::Measure;
use crate::stats::Absent;

/// Nano-dollars in a dollar.
const NANO: f64 = 1e9;
/// Costs are told for so many rows.
const ROWS_OF_COST: f64 = 1000.0;

/// A count with commas between thousands.
pub(super) fn count(count: u64) -> String {
    grouped(&count.to_string())
}

/// The number of a row for people: from 1, as lines are counted, where its place is from 0.
pub(super) fn row(index: u64) -> String {
    count(index.saturating_add(1))
}

/// A number with three decimals and its interval.
pub(super) fn number(measure: &Measure) -> String {
    shown(measure, |value| fixed(value, 3), "")
}

/// A share as a percentage with its interval.
pub(super) fn percent(measure: &Measure) -> String {
    shown(measure, |value| fixed(value * 100.0, 1), " %")
}

/// A difference of shares in percentage points with its interval.
pub(super) fn points(measure: &Measure) -> String {
    shown(measure, |value| signed(value * 100.0, 1), " points")
}

/// A difference with three decimals and its interval.
pub(super) fn difference(measure: &Measure) -> String {
    shown(measure, |value| signed(value, 3), "")
}

/// Milliseconds.
pub(super) fn milliseconds(measure: &Measure) -> String {
    shown(measure, duration, " ms")
}

/// A difference of milliseconds.
pub(super) fn milliseconds_difference(measure: &Measure) -> String {
    shown(measure, |value| signed(value, 1), " ms")
}

/// A cost per row in nano-dollars as dollars for a thousand rows.
pub(super) fn usd_per_thousand(per_row: &Measure) -> String {
    cost(per_row, |nano| dollars(nano * ROWS_OF_COST / NANO))
}

/// A difference of costs per row in nano-dollars as dollars for a thousand rows.
pub(super) fn usd_per_thousand_difference(per_row: &Measure) -> String {
    cost(per_row, |nano| {
        let sign = if nano < 0.0 { "" } else { "+" };
        format!("{sign}{}", dollars(nano * ROWS_OF_COST / NANO))
    })
}

/// A sum in nano-dollars; an absent one is unknown.
pub(super) fn usd(nano: Option<i64>) -> String {
    nano.map_or_else(|| "unknown".to_owned(), |nano| dollars(nano as f64 / NANO))
}

/// A p-value; a small one is written as a bound.
pub(super) fn p_value(measure: &Measure) -> String {
    let written = |value: f64| {
        if value < 0.001 {
            "< 0.001".to_owned()
        } else {
            fixed(value, 3)
        }
    };
    shown(measure, written, "")
}

/// A probability, a confidence or a threshold with up to four decimals.
pub(super) fn probability(value: f64) -> String {
    let text = fixed(value, 4);
    let text = text.trim_end_matches('0');
    text.trim_end_matches('.').to_owned()
}

/// The same, or nothing to tell.
pub(super) fn optional_probability(value: Option<f64>) -> String {
    value.map_or_else(|| "none".to_owned(), probability)
}

/// Why there is no number.
pub(super) fn reason(absent: Option<Absent>) -> String {
    absent.map_or_else(|| "none".to_owned(), |absent| format!("none: {absent}"))
}

/// A number with a fixed number of decimals, and no negative zero.
pub(super) fn fixed(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    let is_zero = text.chars().all(|c| matches!(c, '-' | '0' | '.'));
    let text = if is_zero {
        text.trim_start_matches('-')
    } else {
        &text
    };
    match text.split_once('.') {
        Some((whole, rest)) => format!("{}.{rest}", grouped(whole)),
        None => grouped(text),
    }
}

fn signed(value: f64, decimals: usize) -> String {
    let text = fixed(value, decimals);
    if text.starts_with('-') {
        text
    } else {
        format!("+{text}")
    }
}

fn duration(value: f64) -> String {
    fixed(value, if value.abs() < 100.0 { 1 } else { 0 })
}

/// Four digits that count, so that a cheap judge does not read as free.
fn dollars(value: f64) -> String {
    let decimals = match value.abs() {
        size if 100.0 <= size => 2,
        size if 0.01 <= size || size <= 0.0 => 4,
        _ => 7,
    };
    let text = fixed(value, decimals);
    text.strip_prefix('-')
        .map_or_else(|| format!("${text}"), |text| format!("-${text}"))
}

fn cost(measure: &Measure, written: impl Fn(f64) -> String) -> String {
    match measure.absent {
        Some(Absent::Unknown) => "unknown".to_owned(),
        _ => shown(measure, written, ""),
    }
}

fn shown(measure: &Measure, written: impl Fn(f64) -> String, unit: &str) -> String {
    let Some(value) = measure.value else {
        return reason(measure.absent);
    };
    let value = written(value);
    match (measure.low, measure.high) {
        (Some(low), Some(high)) => {
            format!("{value}{unit} ({} to {})", written(low), written(high))
        }
        _ => format!("{value}{unit}"),
    }
}

fn grouped(digits: &str) -> String {
    let (sign, digits) = digits
        .strip_prefix('-')
        .map_or(("", digits), |digits| ("-", digits));
    let mut text = sign.to_owned();
    for (place, digit) in digits.chars().enumerate() {
        if place != 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measure(value: f64) -> Measure {
        Measure::of(Ok(value))
    }

    #[test]
    fn numbers_are_rounded_and_grouped() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(row(999), "1,000");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(number(&measure(-0.0001)), "0.000");
        assert_eq!(points(&measure(-0.0312)), "-3.1 points");
        assert_eq!(points(&measure(0.0)), "+0.0 points");
        assert_eq!(milliseconds(&measure(12_345.4)), "12,345 ms");
        assert_eq!(milliseconds(&measure(7.25)), "7.2 ms");
        assert_eq!(p_value(&measure(0.0004)), "< 0.001");
        assert_eq!(probability(0.9), "0.9");
        assert_eq!(probability(1.0), "1");
        assert_eq!(probability(0.0), "0");
        assert_eq!(
            percent(&measure(0.5).within(Some((0.25, 0.751)))),
            "50.0 % (25.0 to 75.1)"
        );
    }

    #[test]
    fn an_absent_number_is_its_reason_and_an_unknown_cost_is_unknown() {
        assert_eq!(number(&Measure::of(Err(Absent::Empty))), "none: no rows");
        assert_eq!(
            percent(&Measure::of(Err(Absent::SingleClass))),
            "none: all rows are of one class"
        );
        assert_eq!(
            usd_per_thousand(&Measure::of(Err(Absent::Unknown))),
            "unknown"
        );
        assert_eq!(
            usd_per_thousand(&Measure::of(Err(Absent::Empty))),
            "none: no rows"
        );
        assert_eq!(usd(None), "unknown");
        assert_eq!(usd(Some(0)), "$0.0000");
        assert_eq!(usd_per_thousand(&measure(2.0)), "$0.0000020");
        assert_eq!(usd_per_thousand(&measure(412_000.0)), "$0.4120");
        assert_eq!(
            usd_per_thousand_difference(&measure(-412_000.0)),
            "-$0.4120"
        );
    }
}
