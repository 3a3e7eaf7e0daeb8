//! `init`: a commented configuration for a provider of judges.
//!
//! What is written is one file of `init/`, with the values of the flags in it. It is never written over another one
//! unless that is asked for, and never if it would not load.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use super::names::Provider;
use super::{End, output};
use crate::config::{self, Overrides};

/// What stands where only the user knows the value.
const PLACEHOLDER: &str = "YOUR-";

/// For which provider, and what is known of it.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The provider: jev, openrouter, vercel, portkey, litellm, cloudflare, laya, azure, openai, vllm, ollama, llamacpp
    /// or anthropic.
    #[arg(long, value_name = "PROVIDER")]
    judge: Provider,
    /// The file to write.
    #[arg(long, value_name = "FILE", default_value = "judge-cascade.toml")]
    output: PathBuf,
    /// Writes over a file that is there.
    #[arg(long)]
    force: bool,
    /// Where the judge is.
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// The model, or the deployment.
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// The variable with the key.
    #[arg(long, value_name = "VARIABLE")]
    api_key_env: Option<String>,
}

impl Provider {
    const fn template(self) -> &'static str {
        match self {
            Self::Jev => include_str!("init/jev.toml"),
            Self::OpenRouter => include_str!("init/openrouter.toml"),
            Self::Vercel => include_str!("init/vercel.toml"),
            Self::Portkey => include_str!("init/portkey.toml"),
            Self::LiteLlm => include_str!("init/litellm.toml"),
            Self::Cloudflare => include_str!("init/cloudflare.toml"),
            Self::Laya => include_str!("init/laya.toml"),
            Self::Azure => include_str!("init/azure.toml"),
            Self::OpenAi => include_str!("init/openai.toml"),
            Self::Vllm => include_str!("init/vllm.toml"),
            Self::Ollama => include_str!("init/ollama.toml"),
            Self::LlamaCpp => include_str!("init/llamacpp.toml"),
            Self::Anthropic => include_str!("init/anthropic.toml"),
        }
    }
}

pub(super) fn run(args: &Args) -> anyhow::Result<End> {
    if args
        .api_key_env
        .as_deref()
        .is_some_and(|name| !is_variable(name))
    {
        // What stands here by mistake may be the key itself.
        bail!("--api-key-env: must be the name of a variable, of letters, digits and `_`");
    }
    let mut text = args.judge.template().to_owned();
    for (key, value) in [
        ("base_url", &args.base_url),
        ("model", &args.model),
        ("api_key_env", &args.api_key_env),
    ] {
        if let Some(value) = value {
            text = with(&text, key, value)?;
        }
    }
    loads(&text)?;
    write(&args.output, &text, args.force)?;
    let file = args.output.display().to_string();
    output::line(&format!("wrote {}", output::one_line(&file)))?;
    for step in steps(&text, &quoted(&file)) {
        output::line(&format!("  {}", output::one_line(&step)))?;
    }
    Ok(End::Good)
}

fn is_variable(name: &str) -> bool {
    let mut letters = name.bytes();
    letters
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || c == b'_')
        && letters.all(|c| c.is_ascii_alphanumeric() || c == b'_')
}

/// Whether the text is a valid configuration, once its variables are set.
fn loads(text: &str) -> anyhow::Result<()> {
    let loaded = config::load(Some(("", text)), &BTreeMap::new(), Overrides::default());
    let Err(error) = loaded else {
        return Ok(());
    };
    let problems = error.0.iter().map(|problem| match &*problem.path {
        "" => problem.message.clone(),
        path => format!("{path}: {}", problem.message),
    });
    let problems: Vec<_> = problems.collect();
    bail!(
        "nothing was written, since it would not load:\n{}",
        problems.join("\n")
    );
}

/// The name of a file as a shell takes it.
fn quoted(file: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+:@%,=".contains(c);
    if !file.is_empty() && file.chars().all(is_plain) {
        return file.to_owned();
    }
    format!("'{}'", file.replace('\'', "'\\''"))
}

/// The text with the first line of a key, in a comment or not, set to a value.
fn with(text: &str, key: &str, value: &str) -> anyhow::Result<String> {
    let start = format!("{key} = ");
    let is_it = |line: &&str| line.trim_start_matches("# ").starts_with(&start);
    let Some(line) = text.lines().find(is_it) else {
        bail!("this provider has no `{key}` to set");
    };
    // A string of JSON is one of TOML too.
    let value = serde_json::to_string(value)?;
    Ok(text.replacen(line, &format!("{start}{value}"), 1))
}

fn write(path: &Path, text: &str, force: bool) -> anyhow::Result<()> {
    let shown = path.display();
    if fs::metadata(path).is_ok_and(|file| !file.is_file()) {
        bail!("`{shown}` is there and is not a file");
    }
    let mut options = OpenOptions::new();
    options.write(true);
    if force {
        options.create(true).truncate(true);
    } else {
        options.create_new(true);
    }
    match options.open(path) {
        Ok(mut file) => file
            .write_all(text.as_bytes())
            .with_context(|| format!("cannot write `{shown}`")),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(output::with_hint(
            anyhow::anyhow!("`{shown}` is there already"),
            "--force writes over it, --output names another file",
        )),
        Err(error) => Err(error).with_context(|| format!("cannot write `{shown}`")),
    }
}

/// What is left to do: placeholders, variables, commands.
fn steps(text: &str, file: &str) -> Vec<String> {
    let keys = || text.lines().filter(|line| !line.starts_with('#'));
    let mut steps: Vec<_> = keys()
        .filter(|line| line.contains(PLACEHOLDER))
        .map(|line| format!("put yours into: {line}"))
        .collect();
    let variables = keys().filter_map(|line| {
        let (_, rest) = line
            .split_once("api_key_env = ")
            .or_else(|| line.split_once("env = "))?;
        rest.split('"').nth(1)
    });
    steps.extend(variables.map(|variable| format!("export {variable}=...")));
    steps.push(format!("judge-cascade judges check --config {file}"));
    steps.push(format!("judge-cascade serve --config {file}"));
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Vocabulary as _;

    #[test]
    fn flags_replace_the_first_line_of_their_key() {
        let text =
            "[judges.a]\nmodel = \"x\"\n# api_key_env = \"K\"\n# [judges.b]\n# model = \"y\"\n";
        let text = with(text, "model", "say \"hi\"").unwrap();
        let text = with(&text, "api_key_env", "OTHER").unwrap();
        assert_eq!(
            text,
            "[judges.a]\nmodel = \"say \\\"hi\\\"\"\napi_key_env = \"OTHER\"\n# [judges.b]\n# model = \"y\"\n"
        );
        assert!(with(&text, "base_url", "x").is_err());
    }

    #[test]
    fn a_name_of_a_file_is_quoted_where_a_shell_needs_it() {
        for (file, shown) in [
            ("a/b-c_1.toml", "a/b-c_1.toml"),
            ("my judge.toml", "'my judge.toml'"),
            ("it's", r"'it'\''s'"),
            ("$(x)", "'$(x)'"),
        ] {
            assert_eq!(quoted(file), shown);
        }
    }

    #[test]
    fn every_template_takes_every_flag_and_tells_what_is_left() {
        for provider in Provider::ALL {
            let mut text = provider.template().to_owned();
            for (key, value) in [
                ("base_url", "https://filled.example"),
                ("model", "filled-model"),
                ("api_key_env", "FILLED_KEY"),
            ] {
                text = with(&text, key, value).unwrap();
                assert!(
                    text.contains(&format!("\n{key} = \"{value}\"\n")),
                    "{provider}: {key}"
                );
            }
            let steps = steps(&text, "c.toml");
            assert!(
                steps.contains(&"export FILLED_KEY=...".to_owned()),
                "{provider}: {steps:?}"
            );
            assert_eq!(steps.last().unwrap(), "judge-cascade serve --config c.toml");
        }
    }
}
