//! The `judge-cascade` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    judge_cascade::cli::main()
}
