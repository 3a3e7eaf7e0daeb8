//! From tokens to money.
//!
//! An unknown price or count makes an unknown cost, never zero: a sum that leaves something out looks like a bill and
//! is none.

use std::collections::BTreeMap;

use crate::domain::outcome::{NanoUsd, Usage};

/// Prices by model.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PriceTable {
    /// By the name that the judge reports or is asked for.
    pub models: BTreeMap<String, Price>,
}

/// Prices of one model, each for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Price {
    /// Input that was not read from the judge's cache.
    pub input: NanoUsd,
    /// Output, reasoning included.
    pub output: NanoUsd,
    /// Input that was read from the judge's cache; `None` if the table does not say.
    pub cached_input: Option<NanoUsd>,
}

impl PriceTable {
    /// The cost of a call in 1e-9 US dollars, rounded half up; `None` is unknown.
    ///
    /// `cost = (input - cached) * p_input + cached * p_cached + output * p_output`, each price per 1e6 tokens.
    /// Input counts include cached tokens and output counts include reasoning, as judges report them.
    pub fn cost(&self, model: &str, usage: &Usage) -> Option<NanoUsd> {
        let price = self.models.get(model)?;
        let cached = usage.cached_input_token_count.unwrap_or(0);
        let fresh = match usage.input_token_count {
            Some(input) => Some(input.checked_sub(cached)?),
            None => None,
        };
        let parts = [
            part(fresh, Some(price.input))?,
            part(Some(cached), price.cached_input)?,
            part(usage.output_token_count, Some(price.output))?,
        ];
        let total: i128 = parts.iter().sum();
        i64::try_from((total + 500_000) / 1_000_000)
            .ok()
            .map(NanoUsd)
    }
}

/// Tokens times price; nothing has to be known about what is free or was not used.
fn part(tokens: Option<u64>, price: Option<NanoUsd>) -> Option<i128> {
    match (tokens, price) {
        (Some(0), _) | (_, Some(NanoUsd::ZERO)) => Some(0),
        (Some(tokens), Some(price)) => Some(i128::from(tokens) * i128::from(price.0)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(cached_input: Option<NanoUsd>) -> PriceTable {
        let price = Price {
            input: NanoUsd(1_000_000_000),
            output: NanoUsd(2_000_000_000),
            cached_input,
        };
        PriceTable {
            models: BTreeMap::from([("m".to_owned(), price)]),
        }
    }

    fn usage(input: Option<u64>, cached: Option<u64>, output: Option<u64>) -> Usage {
        Usage {
            input_token_count: input,
            cached_input_token_count: cached,
            output_token_count: output,
            reasoning_token_count: None,
        }
    }

    #[test]
    fn tokens_times_price_is_the_cost() {
        // 44 input at 1 USD and 8 output at 2 USD per million are 60 micro dollars.
        let cost = table(None).cost("m", &usage(Some(44), None, Some(8)));
        assert_eq!(cost, Some(NanoUsd(60_000)));
    }

    #[test]
    fn an_unknown_model_or_count_is_an_unknown_cost() {
        let known = usage(Some(44), None, Some(8));
        assert_eq!(table(None).cost("other", &known), None);
        assert_eq!(table(None).cost("m", &usage(None, None, Some(8))), None);
        assert_eq!(table(None).cost("m", &usage(Some(44), None, None)), None);
    }

    #[test]
    fn cached_input_needs_its_own_price_and_is_not_charged_twice() {
        let cached = usage(Some(100), Some(40), Some(0));
        assert_eq!(table(None).cost("m", &cached), None);
        let price = Some(NanoUsd(100_000_000));
        assert_eq!(
            table(price).cost("m", &cached),
            Some(NanoUsd(60_000 + 4_000))
        );
    }

    #[test]
    fn more_cached_than_input_tokens_is_unknown() {
        let price = Some(NanoUsd(1));
        assert_eq!(
            table(price).cost("m", &usage(Some(1), Some(2), Some(0))),
            None
        );
    }
}
