//! From tokens to money.
//!
//! An unknown price or count makes an unknown cost, never zero: a sum that leaves something out looks like a bill and
//! is none. Each token is charged once: a cached one is no fresh one, a reasoning one no other output.

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
    /// Input that was neither read from the judge's cache nor written to it.
    pub input: NanoUsd,
    /// Output, with reasoning unless that has its own price.
    pub output: NanoUsd,
    /// Input that was read from the judge's cache; `None` if the table does not say.
    pub cached_input: Option<NanoUsd>,
    /// Input that was written to the judge's cache; `None` if the table does not say.
    pub cache_write_input: Option<NanoUsd>,
    /// Reasoning; `None` if it is priced as output.
    pub reasoning: Option<NanoUsd>,
}

impl PriceTable {
    /// The cost of a call in 1e-9 US dollars, rounded half up; `None` is unknown.
    ///
    /// `cost = (input - cached - written) * p_input + cached * p_cached + written * p_written + (output - reasoning) *
    /// p_output + reasoning * p_reasoning`, each price per 1e6 tokens. A part that the judge does not report apart is
    /// taken as none; parts that are more than their whole make the cost unknown.
    pub fn cost(&self, model: &str, usage: &Usage) -> Option<NanoUsd> {
        let price = self.models.get(model)?;
        let cached = usage.cached_input_token_count.unwrap_or(0);
        let written = usage.cache_write_input_token_count.unwrap_or(0);
        let reasoning = usage.reasoning_token_count.unwrap_or(0);
        let fresh = rest(usage.input_token_count, cached.checked_add(written)?)?;
        let said = rest(usage.output_token_count, reasoning)?;
        let parts = [
            part(fresh, Some(price.input))?,
            part(Some(cached), price.cached_input)?,
            part(Some(written), price.cache_write_input)?,
            part(said, Some(price.output))?,
            part(Some(reasoning), price.reasoning.or(Some(price.output)))?,
        ];
        nano_usd(parts, 500_000)
    }

    /// The most that so many tokens can cost, whatever kind of tokens they turn out to be; `None` is unknown.
    pub fn upper_bound(&self, model: &str, input: u64, output: u64) -> Option<NanoUsd> {
        let price = self.models.get(model)?;
        let dearest_input = [price.cached_input, price.cache_write_input];
        let dearest_input = dearest_input.into_iter().flatten().max().into_iter();
        let dearest_input = dearest_input.fold(price.input, NanoUsd::max);
        let dearest_output = price
            .reasoning
            .map_or(price.output, |p| p.max(price.output));
        let parts = [
            part(Some(input), Some(dearest_input))?,
            part(Some(output), Some(dearest_output))?,
        ];
        nano_usd(parts, 999_999)
    }
}

/// What is left of a whole without a part; the outer `None` is a part that is more than the whole.
fn rest(whole: Option<u64>, part: u64) -> Option<Option<u64>> {
    match whole {
        Some(whole) => whole.checked_sub(part).map(Some),
        None => Some(None),
    }
}

/// Tokens times price; nothing has to be known about what is free or was not used.
fn part(tokens: Option<u64>, price: Option<NanoUsd>) -> Option<i128> {
    match (tokens, price) {
        (Some(0), _) | (_, Some(NanoUsd::ZERO)) => Some(0),
        (Some(tokens), Some(price)) => i128::from(tokens).checked_mul(i128::from(price.0)),
        _ => None,
    }
}

/// Tokens times prices per million as money; `rounding` is what is added before the fraction is cut.
///
/// More than there are numbers for is unknown.
fn nano_usd(parts: impl IntoIterator<Item = i128>, rounding: i128) -> Option<NanoUsd> {
    let total = parts.into_iter().try_fold(rounding, i128::checked_add)?;
    i64::try_from(total / 1_000_000).ok().map(NanoUsd)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FREE: Price = Price {
        input: NanoUsd::ZERO,
        output: NanoUsd::ZERO,
        cached_input: None,
        cache_write_input: None,
        reasoning: None,
    };

    fn table(price: Price) -> PriceTable {
        PriceTable {
            models: BTreeMap::from([("m".to_owned(), price)]),
        }
    }

    fn plain(cached_input: Option<NanoUsd>) -> PriceTable {
        table(Price {
            input: NanoUsd(1_000_000_000),
            output: NanoUsd(2_000_000_000),
            cached_input,
            ..FREE
        })
    }

    fn usage(input: Option<u64>, cached: Option<u64>, output: Option<u64>) -> Usage {
        Usage {
            input_token_count: input,
            cached_input_token_count: cached,
            cache_write_input_token_count: None,
            output_token_count: output,
            ..Usage::default()
        }
    }

    #[test]
    fn tokens_times_price_is_the_cost() {
        // 44 input at 1 USD and 8 output at 2 USD per million are 60 micro dollars.
        let cost = plain(None).cost("m", &usage(Some(44), None, Some(8)));
        assert_eq!(cost, Some(NanoUsd(60_000)));
    }

    #[test]
    fn an_unknown_model_or_count_is_an_unknown_cost() {
        let known = usage(Some(44), None, Some(8));
        assert_eq!(plain(None).cost("other", &known), None);
        assert_eq!(plain(None).cost("m", &usage(None, None, Some(8))), None);
        assert_eq!(plain(None).cost("m", &usage(Some(44), None, None)), None);
    }

    #[test]
    fn cached_input_needs_its_own_price_and_is_not_charged_twice() {
        let cached = usage(Some(100), Some(40), Some(0));
        assert_eq!(plain(None).cost("m", &cached), None);
        let price = Some(NanoUsd(100_000_000));
        assert_eq!(
            plain(price).cost("m", &cached),
            Some(NanoUsd(60_000 + 4_000))
        );
    }

    #[test]
    fn parts_that_are_more_than_their_whole_are_unknown() {
        let price = table(Price {
            cached_input: Some(NanoUsd(1)),
            cache_write_input: Some(NanoUsd(1)),
            ..FREE
        });
        let cost = |usage: Usage| price.cost("m", &usage);
        assert_eq!(cost(usage(Some(1), Some(2), Some(0))), None);
        let written = Usage {
            cache_write_input_token_count: Some(2),
            ..usage(Some(3), Some(2), Some(0))
        };
        assert_eq!(cost(written), None);
        let thought = Usage {
            reasoning_token_count: Some(5),
            ..usage(Some(3), None, Some(4))
        };
        assert_eq!(cost(thought), None);
    }

    /// R41: a usage block with cached, written and reasoning tokens, exact to the nano-dollar.
    ///
    /// 61,807 input tokens, of which 48,640 were read from the cache and 9,216 written to it, leave 3,951 fresh ones:
    /// 3,951 x 2.5 + 48,640 x 0.25 + 9,216 x 3.125 = 50,837.5 micro-dollars; 2,311 output tokens, of which 1,984 are
    /// reasoning: 327 x 15 + 1,984 x 12.5 = 29,705 micro-dollars. Cached and written
    /// tokens charged as fresh ones too would make 225,182.5.
    #[test]
    fn r41_cached_written_and_reasoning_tokens_are_each_charged_once() {
        let prices = table(Price {
            input: NanoUsd(2_500_000_000),
            output: NanoUsd(15_000_000_000),
            cached_input: Some(NanoUsd(250_000_000)),
            cache_write_input: Some(NanoUsd(3_125_000_000)),
            reasoning: Some(NanoUsd(12_500_000_000)),
        });
        let usage = Usage {
            input_token_count: Some(61_807),
            cached_input_token_count: Some(48_640),
            cache_write_input_token_count: Some(9_216),
            output_token_count: Some(2_311),
            reasoning_token_count: Some(1_984),
        };
        assert_eq!(prices.cost("m", &usage), Some(NanoUsd(80_542_500)));
        let bound = prices.upper_bound("m", 61_807, 2_311);
        assert_eq!(bound, Some(NanoUsd(227_811_875)));
    }

    #[test]
    fn reasoning_without_a_price_of_its_own_is_priced_as_output() {
        let thought = Usage {
            reasoning_token_count: Some(6),
            ..usage(Some(0), None, Some(8))
        };
        assert_eq!(plain(None).cost("m", &thought), Some(NanoUsd(16_000)));
    }

    #[test]
    fn fractions_are_rounded_half_up_and_bounds_up() {
        let price = table(Price {
            input: NanoUsd(500_000),
            ..FREE
        });
        let cost = |tokens| price.cost("m", &usage(Some(tokens), None, Some(0)));
        assert_eq!(cost(1), Some(NanoUsd(1)));
        assert_eq!(cost(2), Some(NanoUsd(1)));
        assert_eq!(price.upper_bound("m", 3, 0), Some(NanoUsd(2)));
    }

    #[test]
    fn counts_without_measure_are_an_unknown_cost() {
        let dear = Some(NanoUsd(i64::MAX));
        let prices = table(Price {
            input: NanoUsd(i64::MAX),
            output: NanoUsd(i64::MAX),
            cached_input: dear,
            cache_write_input: dear,
            reasoning: dear,
        });
        let most = Some(u64::MAX);
        for (cached, written, reasoning) in [
            (most, most, most),
            (most, None, most),
            (None, most, None),
            (None, None, None),
        ] {
            let usage = Usage {
                input_token_count: most,
                cached_input_token_count: cached,
                cache_write_input_token_count: written,
                output_token_count: most,
                reasoning_token_count: reasoning,
            };
            assert_eq!(prices.cost("m", &usage), None);
            assert_eq!(plain(Some(NanoUsd(1))).cost("m", &usage), None);
        }
        assert_eq!(prices.upper_bound("m", u64::MAX, u64::MAX), None);
    }

    /// R42: what has no price has no cost, and what is free costs nothing.
    #[test]
    fn r42_an_unknown_price_is_not_zero() {
        let table = table(FREE);
        assert_eq!(
            table.cost("m", &usage(None, None, None)),
            Some(NanoUsd::ZERO)
        );
        assert_eq!(table.cost("n", &usage(Some(1), None, Some(1))), None);
    }
}
