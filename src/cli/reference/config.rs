//! The reference of the configuration, from the file that documents every key.

use super::{head, row};
use crate::config::reference::{KeyDefault, KeyReference, sections, variable_of};

const INTRODUCTION: &str = "\
# Configuration

Every key with its default, the variable and the flag that set it, and its meaning.
The tables are printed by `judge-cascade reference config`; [deploy/config.default.toml](../deploy/config.default.toml) \
holds the same as a file to start from.

## Layers

Later ones win: defaults, the file, the environment, flags.

- The file is the one of `--config`, else the one that the variable `JUDGE_CASCADE_CONFIG` names; without either the \
defaults hold.
- The environment sets a key by `JUDGE_CASCADE__SECTION__KEY`, in capitals and with two underscores between the parts, \
for example `JUDGE_CASCADE__PROFILES__DEFAULT__POLICY=parity-v1`. A value is TOML, and a string if it is none.
- Names of files are relative to the folder of the file, whichever layer they are from; the path of the socket is \
relative to the working directory.
- Names of judges and profiles are 1 to 64 of `a` to `z`, `0` to `9`, `_` and `-`. Below, `recorded` and `remote` stand \
for any names of judges.
- A key that is not listed here is an error. `config check` lists every problem at once with its place, and \
`config print` shows what is in force.

## Secrets

No secret stands in the configuration: it names the variable or the file that holds one.

- `api_key_env` and `{ env = \"NAME\" }` are read at the start; `api_key_file`, `{ file = \"PATH\" }`, \
`server.auth.token_file` and the files of `[server.tls]` are read again when they change.
- A secret is in no log, no error, no metric and not in what `config print` shows.
- There is no key for a secret itself, so that a configuration can be stored, printed and shown.
";

/// The whole document.
pub(super) fn document() -> String {
    let mut text = INTRODUCTION.to_owned();
    for section in sections() {
        text += &format!("\n## `[{}]`\n\n", section.name);
        if !section.meaning.is_empty() {
            text += &format!("{}\n\n", section.meaning);
        }
        if section.keys.is_empty() {
            continue;
        }
        text += &head(&["key", "type", "default", "variable and flag", "meaning"]);
        for key in &section.keys {
            let variable = format!("`{}`", variable_of(&section.name, &key.name));
            let set_by = match key.flag {
                Some(flag) => format!("{variable}, `{flag}`"),
                None => variable,
            };
            text += &row(&[
                &format!("`{}`", key.name),
                key.value_type(),
                &default(key),
                &set_by,
                &key.meaning,
            ]);
        }
    }
    text
}

fn default(key: &KeyReference) -> String {
    match key.default {
        KeyDefault::Value => format!("`{}`", key.value),
        KeyDefault::Absent => "absent".to_owned(),
        KeyDefault::Required => "required".to_owned(),
    }
}
