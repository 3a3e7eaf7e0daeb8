//! The `grpc-timeout` header: how long the caller waits.
//!
//! tonic ends a call at that time with CANCELLED and drops its handler, so the server has to know it and be earlier.

use std::time::Duration;

use http::HeaderMap;

/// The time-out of a call; `None` if it has none, or one that cannot be read.
pub fn timeout(headers: &HeaderMap) -> Option<Duration> {
    parse(headers.get("grpc-timeout")?.to_str().ok()?)
}

/// At most eight digits and a unit, as the gRPC protocol over HTTP/2 has it.
fn parse(text: &str) -> Option<Duration> {
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    if digits.len() > 8 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let count: u64 = digits.parse().ok()?;
    match unit {
        "H" => Some(Duration::from_secs(count * 3600)),
        "M" => Some(Duration::from_secs(count * 60)),
        "S" => Some(Duration::from_secs(count)),
        "m" => Some(Duration::from_millis(count)),
        "u" => Some(Duration::from_micros(count)),
        "n" => Some(Duration::from_nanos(count)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_unit_of_the_protocol_is_read() {
        let cases = [
            ("1H", 3_600_000_000_000),
            ("2M", 120_000_000_000),
            ("3S", 3_000_000_000),
            ("4m", 4_000_000),
            ("5u", 5_000),
            ("99999999n", 99_999_999),
        ];
        for (text, nanos) in cases {
            assert_eq!(parse(text), Some(Duration::from_nanos(nanos)), "{text}");
        }
    }

    #[test]
    fn anything_else_is_no_timeout() {
        for text in ["", "S", "1", "1s", "-1S", "123456789S", "1 S", "é"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
