//! A configuration whose judges over HTTP are replaced by what they have answered before.

use std::path::Path;

use anyhow::bail;

use crate::artifact::replay::recorded;
use crate::config::Config;
use crate::config::judges::JudgeConfig;

/// The same configuration with the answers in a file in place of the judges over HTTP that it has rows of.
///
/// A judge without rows stays as it is; a file that has rows of none of them is an error.
pub fn replayed(config: Config, file: &Path) -> anyhow::Result<Config> {
    let recorded = recorded::judges(file)?;
    let is_live = |judge: &JudgeConfig| matches!(judge, JudgeConfig::Remote { .. });
    let live = config.judges.iter().filter(|(_, judge)| is_live(judge));
    let names: Vec<_> = live.map(|(id, _)| id).collect();
    if !names.iter().any(|id| recorded.contains(*id)) {
        let list = |names: Vec<String>| match names.len() {
            0 => "no judge".to_owned(),
            _ => names.join(", "),
        };
        bail!(
            "{} holds no row of a judge over HTTP; its rows are of {}, the configuration has {}",
            file.display(),
            list(recorded.iter().map(|id| format!("`{id}`")).collect()),
            list(names.iter().map(|id| format!("`{id}`")).collect()),
        );
    }
    Ok(config.replayed(file, &recorded))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;

    use super::*;
    use crate::config::{self, Overrides};

    #[test]
    fn only_a_file_with_rows_of_a_judge_over_http_replaces_one() {
        let text = "[judges.j]\ntype = 'chat'\nbase_url = 'https://j.example'\nmodel = 'm'\n[profiles.p]\natomic = 'embedded'\nfallback = 'j'";
        let config = config::load(
            Some(("c.toml", text)),
            &BTreeMap::new(),
            Overrides::default(),
        );
        let config = config.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("r.jsonl");
        let row = |judge: &str| {
            format!(
                r#"{{"trace_id":"t","judge_id":"{judge}","decision":{{"id":"d","version":"1","variant":"without_reference"}},"answers":{{}},"latency_ms":5}}"#
            )
        };
        fs::write(&file, row("embedded")).unwrap();
        let error = replayed(config.clone(), &file).unwrap_err().to_string();
        assert!(
            error.ends_with(
                "holds no row of a judge over HTTP; its rows are of `embedded`, the configuration has `j`"
            ),
            "{error}"
        );
        fs::write(&file, row("j")).unwrap();
        let replayed = replayed(config, &file).unwrap();
        assert!(replayed.live_judges(&"p".into()).is_empty());
    }
}
