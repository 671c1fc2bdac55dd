//! `ane completions`.

use clap::Args;
use clap_complete::Shell;

/// Print completions for a shell
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ane completions bash > ~/.local/share/bash-completion/completions/ane
  ane completions fish > ~/.config/fish/completions/ane.fish")]
pub(crate) struct Completions {
    /// The shell
    pub(crate) shell: Shell,
}
