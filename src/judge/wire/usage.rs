//! The tokens that a judge reports, under either of the two names that are in use.
//!
//! A number that is not a whole number from 0 on is no report; what is not reported is unknown and never 0.

use serde::Deserialize;

use super::scalar::{Object, Scalar};
use crate::domain::outcome::Usage;

/// The `usage` of an answer.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(in crate::judge) struct RawUsage {
    input_tokens: Scalar,
    prompt_tokens: Scalar,
    output_tokens: Scalar,
    completion_tokens: Scalar,
    input_tokens_details: Object<Details>,
    prompt_tokens_details: Object<Details>,
    output_tokens_details: Object<Details>,
    completion_tokens_details: Object<Details>,
    cache_creation_input_tokens: Scalar,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Details {
    cached_tokens: Scalar,
    cache_creation_tokens: Scalar,
    reasoning_tokens: Scalar,
}

/// What was reported; `None` if that is nothing.
pub(in crate::judge) fn of(raw: &Object<RawUsage>) -> Option<Usage> {
    let raw = raw.0.as_ref()?;
    let detail =
        |first: &Object<Details>, second: &Object<Details>, pick: fn(&Details) -> &Scalar| {
            let pick = |details: &Object<Details>| details.0.as_ref().and_then(|d| pick(d).count());
            pick(first).or_else(|| pick(second))
        };
    let usage = Usage {
        input_token_count: raw
            .input_tokens
            .count()
            .or_else(|| raw.prompt_tokens.count()),
        cached_input_token_count: detail(
            &raw.input_tokens_details,
            &raw.prompt_tokens_details,
            |details| &details.cached_tokens,
        ),
        cache_write_input_token_count: detail(
            &raw.input_tokens_details,
            &raw.prompt_tokens_details,
            |details| &details.cache_creation_tokens,
        )
        .or_else(|| raw.cache_creation_input_tokens.count()),
        output_token_count: raw
            .output_tokens
            .count()
            .or_else(|| raw.completion_tokens.count()),
        reasoning_token_count: detail(
            &raw.output_tokens_details,
            &raw.completion_tokens_details,
            |details| &details.reasoning_tokens,
        ),
    };
    (usage != Usage::default()).then_some(usage)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<[Option<u64>; 5]>) {
        let read = of(&serde_json::from_str(text).unwrap());
        let counts = read.map(|usage| {
            [
                usage.input_token_count,
                usage.cached_input_token_count,
                usage.cache_write_input_token_count,
                usage.output_token_count,
                usage.reasoning_token_count,
            ]
        });
        assert_eq!(counts, expected, "{text}");
    }

    #[test]
    fn what_is_not_reported_is_unknown() {
        for nothing in ["null", "{}", "[]", "3", "{\"total_tokens\":3}"] {
            check(nothing, None);
        }
        check(
            r#"{"input_tokens":271,"output_tokens":0}"#,
            Some([Some(271), None, None, Some(0), None]),
        );
        check(r#"{"input_tokens":-1,"output_tokens":1.5}"#, None);
        check(
            r#"{"input_tokens":"9","output_tokens":7}"#,
            Some([None, None, None, Some(7), None]),
        );
        check(
            r#"{"prompt_tokens":9,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":4},
                "completion_tokens_details":{"reasoning_tokens":2}}"#,
            Some([Some(9), Some(4), None, Some(5), Some(2)]),
        );
        for written in [
            r#"{"prompt_tokens":9,"prompt_tokens_details":{"cache_creation_tokens":3}}"#,
            r#"{"prompt_tokens":9,"cache_creation_input_tokens":3}"#,
        ] {
            check(written, Some([Some(9), None, Some(3), None, None]));
        }
    }
}
