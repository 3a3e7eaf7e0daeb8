//! The state of spend caps: what was spent on judges in one day, so that a restart does not begin the day anew.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::domain::outcome::NanoUsd;
use crate::domain::trace::JudgeId;

/// The version of the shape of the file.
const SCHEMA_VERSION: u32 = 1;
/// What the file says that it is.
const KIND: &str = "judge-cascade spend";

/// What was spent in one day.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SpendState {
    /// Days since 1970-01-01 in UTC.
    pub utc_day: u64,
    /// By judge.
    pub judges: BTreeMap<JudgeId, SpentRow>,
}

/// What was spent on one judge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SpentRow {
    /// Money, with what may yet turn out to have been spent.
    pub nano_usd: NanoUsd,
    /// Calls.
    pub call_count: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    kind: String,
    schema_version: u32,
    utc_day: u64,
    judges: BTreeMap<JudgeId, SpentRow>,
}

/// Reads the text of a state file; the error says what is wrong with it.
pub fn read(text: &str) -> Result<SpendState, String> {
    let file: File = serde_json::from_str(text)
        .map_err(|error| format!("is not a whole state file: {error}"))?;
    if file.kind != KIND || file.schema_version != SCHEMA_VERSION {
        return Err(format!(
            "is `{}` version {}, not `{KIND}` version {SCHEMA_VERSION}",
            file.kind, file.schema_version
        ));
    }
    if let Some((judge_id, _)) = file.judges.iter().find(|(_, row)| row.nano_usd.0 < 0) {
        return Err(format!("judges.{judge_id}.nano_usd: must not be negative"));
    }
    Ok(SpendState {
        utc_day: file.utc_day,
        judges: file.judges,
    })
}

/// The text of a state file.
pub fn write(state: SpendState) -> Result<String, serde_json::Error> {
    let file = File {
        kind: KIND.to_owned(),
        schema_version: SCHEMA_VERSION,
        utc_day: state.utc_day,
        judges: state.judges,
    };
    Ok(serde_json::to_string(&file)? + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_read_as_it_was_written_and_nothing_else_is() {
        let row = SpentRow {
            nano_usd: NanoUsd(70),
            call_count: 3,
        };
        let state = SpendState {
            utc_day: 20_787,
            judges: BTreeMap::from([("j".into(), row)]),
        };
        let text = write(state.clone()).unwrap();
        assert_eq!(read(&text).unwrap(), state);
        for bad in [
            "",
            &text[..text.len() / 2],
            "{}",
            &text.replace(KIND, "other"),
            &text.replace("70", "-70"),
        ] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
