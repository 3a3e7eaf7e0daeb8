//! What is running: its version and the revision of its source, fixed when it is compiled.

use std::sync::LazyLock;

/// The version of the package.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The revision that `JUDGE_CASCADE_REVISION` named when this was compiled, else `unknown`.
pub const REVISION: &str = match option_env!("JUDGE_CASCADE_REVISION") {
    Some(revision) if !revision.is_empty() => revision,
    _ => "unknown",
};

/// Both, as `--version` tells them.
pub static VERSION_AND_REVISION: LazyLock<String> =
    LazyLock::new(|| format!("{VERSION} ({REVISION})"));
