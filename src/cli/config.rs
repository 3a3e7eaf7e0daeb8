//! `config check` and `config print`.

use super::settings::{self, ConfigArgs, ServerArgs};
use super::{End, output};

/// Looks at the configuration without serving.
#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// Reads the configuration and every file that it names, and lists everything that is wrong.
    Check(Args),
    /// Prints the effective configuration with every key.
    Print(Args),
}

/// Which configuration.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    config: ConfigArgs,
    #[command(flatten)]
    server: ServerArgs,
}

pub(super) fn run(command: Command) -> anyhow::Result<End> {
    match command {
        Command::Check(args) => {
            let config = args.config.load(args.server.overrides())?;
            let app = settings::build_server(&config)?;
            for warning in &app.warnings {
                output::note(&format!("warning: {warning}"));
            }
            output::line("the configuration is valid")?;
        }
        Command::Print(args) => {
            let config = args.config.load(args.server.overrides())?;
            output::line(config.to_toml().trim_end())?;
        }
    }
    Ok(End::Good)
}
