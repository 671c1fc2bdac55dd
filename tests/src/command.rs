//! The `ane` command as its users run it: the built program, not a function call.

use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::{Mutex, OnceLock};

/// The built program `bin`.
///
/// Cargo tells only the tests of a program's own package where it is, so this asks cargo for it: with the
/// profile and into the folder of the running test, where it is fresh already as a rule.
///
/// # Panics
///
/// If it cannot be built.
pub fn built(bin: &str) -> PathBuf {
    build(&["--bin", bin]).join(bin)
}

/// The built library `file`.
///
/// # Panics
///
/// If it cannot be built.
pub fn library(file: &str) -> PathBuf {
    build(&["--lib"]).join(file)
}

/// Set where the whole workspace is built for the run: for one test after the other cargo would look at each file again, which takes
/// minutes of a run.
const IS_BUILT: &str = "ANE_IS_BUILT";

/// Builds a part of the workspace; gives the folder that it is in. A package by itself would have other features of what it depends
/// on, and all of that would be compiled once more.
fn build(part: &[&str]) -> PathBuf {
    static BUILDING: Mutex<()> = Mutex::new(());
    let _one_at_a_time = BUILDING.lock();
    let test = std::env::current_exe().expect("a test knows its own path");
    let profile = test.ancestors().nth(2).expect("tests lie in TARGET/PROFILE/deps");
    if std::env::var_os(IS_BUILT).is_some() {
        return profile.to_owned();
    }
    let target = profile.parent().expect("tests lie in TARGET/PROFILE/deps");
    let mut build = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    build.args(["build", "--quiet", "--locked", "--workspace"]).args(part);
    build.arg("--target-dir").arg(target);
    if profile.ends_with("release") {
        build.arg("--release");
    }
    let built = build.current_dir(env!("CARGO_MANIFEST_DIR")).status().expect("cargo runs");
    assert!(built.success(), "{part:?} does not build");
    profile.to_owned()
}

/// The built `ane`.
///
/// # Panics
///
/// If it cannot be built.
pub fn path() -> &'static PathBuf {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| built("ane"))
}

/// Runs `ane` with `arguments`.
///
/// # Panics
///
/// If it cannot be built or started.
pub fn ane(arguments: &[&str]) -> Output {
    Command::new(path()).args(arguments).output().expect("the command starts")
}

/// The output of a run that has to succeed.
///
/// # Panics
///
/// If it fails, or prints no text.
pub fn printed(arguments: &[&str]) -> String {
    let output = ane(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("output is text")
}

/// The message of a run that has to fail with `code`: one line with what to try.
///
/// # Panics
///
/// If it ends otherwise, or says more or less.
pub fn refused(code: i32, arguments: &[&str]) -> String {
    let output = ane(arguments);
    let message = String::from_utf8(output.stderr).expect("messages are text");
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {message}");
    assert!(message.starts_with("ane: ") && message.ends_with('\n'), "{message:?}");
    assert_eq!(message.lines().count(), 1, "one line: {message:?}");
    assert!(message.contains("; "), "says what to try: {message:?}");
    message
}

/// The text with every span of time, such as `12.5µs`, written as `TIME`, and blanks before it as one.
pub fn without_times(text: &str) -> String {
    let is_time = |word: &str| {
        let word = word.trim_end_matches([',', ':', ';']);
        let unit = ["ns", "µs", "ms", "s"].into_iter().find_map(|unit| word.strip_suffix(unit));
        unit.is_some_and(|number| number.parse::<f64>().is_ok())
    };
    let mut steady = String::new();
    for line in text.lines() {
        let mut rest = line;
        while let Some(start) = rest.find(|c: char| !c.is_whitespace()) {
            let (blanks, word) = rest.split_at(start);
            let end = word.find(char::is_whitespace).unwrap_or(word.len());
            let (word, after) = word.split_at(end);
            if is_time(word) {
                let mark = word.trim_start_matches(|c: char| c.is_ascii_digit() || ".nµms".contains(c));
                steady.push_str(" TIME");
                steady.push_str(mark);
            } else {
                steady.push_str(blanks);
                steady.push_str(word);
            }
            rest = after;
        }
        steady.push('\n');
    }
    steady
}
