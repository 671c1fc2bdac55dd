//! The committed page beside the one that the tests make now.

use std::collections::BTreeSet;

/// The first cell of a row.
fn key(line: &str) -> &str {
    line.split(" | ").next().unwrap_or_default()
}

/// The lines that one page has and the other has not. Differences that are one apart in their digit are the same.
pub(super) fn lines(committed: &str, now: &str) -> Vec<String> {
    let (mut old, mut new) = (committed.lines().peekable(), now.lines().peekable());
    let mut unlike = Vec::new();
    let is_in = |text: &str, wanted: &str| text.lines().any(|line| key(line) == wanted);
    while old.peek().is_some() || new.peek().is_some() {
        match (old.peek().copied(), new.peek().copied()) {
            (Some(a), Some(b)) if is_same(a, b) => {
                old.next();
                new.next();
            }
            // A row that the other page does not have at all.
            (Some(a), b) if b.is_none() || !is_in(now, key(a)) => {
                unlike.push(format!("- {a}"));
                old.next();
            }
            (a, Some(b)) if a.is_none() || !is_in(committed, key(b)) => {
                unlike.push(format!("+ {b}"));
                new.next();
            }
            // Of two rows with the same first cell, the words that are not the same.
            (a, b) => {
                let (a, b) = (a.unwrap_or_default(), b.unwrap_or_default());
                unlike.push(format!("- {}: {}", key(a), words_without(a, b)));
                unlike.push(format!("+ {}: {}", key(b), words_without(b, a)));
                old.next();
                new.next();
            }
        }
    }
    unlike
}

/// The words of a line that another line does not have.
fn words_without(line: &str, other: &str) -> String {
    let words = |line| str::split(line, [' ', ',', '<', '>']).filter(|word| !word.is_empty());
    let is_there: BTreeSet<&str> = words(other).collect();
    words(line).filter(|word| !is_there.contains(word)).collect::<Vec<_>>().join(" ")
}

/// Whether two lines say the same.
fn is_same(a: &str, b: &str) -> bool {
    let (a, b): (Vec<_>, Vec<_>) = (a.split(" | ").collect(), b.split(" | ").collect());
    let pairs = || {
        a.iter().map(|cell| cell.trim_end_matches(" |")).zip(b.iter().map(|cell| cell.trim_end_matches(" |")))
    };
    a.len() == b.len() && pairs().all(|(a, b)| a == b || is_near(a, b))
}

/// Whether both are differences, of one digit each, and next to each other or both about as small as a single's rounding.
fn is_near(a: &str, b: &str) -> bool {
    let place = |text: &str| {
        let (digit, power) = text.split_once('e')?;
        match (digit.parse().ok()?, power.parse::<i32>().ok()?) {
            (digit @ 1..=9, power) => Some((power * 9 + digit).max(SMALL)),
            (0, _) => Some(SMALL),
            _ => None,
        }
    };
    matches!((place(a), place(b)), (Some(a), Some(b)) if (a - b).abs() <= 1)
}

/// The place of 9e-7 among all differences of one digit.
const SMALL: i32 = -7 * 9 + 9;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coverage_onnx::page::{render, tests::cases};

    #[test]
    fn pages_that_say_other_things_are_unlike() {
        let page = render(&cases());
        assert_eq!(lines(&page, &page), Vec::<String>::new());
        let changed = |old: &str, new: &str| lines(&page, &page.replace(old, new));
        assert_eq!(changed("3e-4", "4e-4"), Vec::<String>::new(), "libraries differ so much");
        assert_eq!(changed("3e-4", "5e-4"), ["- | test_a: 3e-4", "+ | test_a: 5e-4"]);
        assert_eq!(changed("| 2 | 3e-4", "| 3 | 3e-4").len(), 2, "the number of tasks is exact");
        assert_eq!(changed("too \\| far", "odd").len(), 2);
        assert_eq!(
            changed("test_f, ", ""),
            [
                "- | Cast: a cast to type 17 is not mapped: test_f",
                "+ | Cast: a cast to type 17 is not mapped: "
            ]
        );
        assert_eq!(changed("\ntest_c\n", "\n"), ["- test_c"]);
        assert_eq!(changed("| test_a | 2 | 3e-4 |\n", ""), ["- | test_a | 2 | 3e-4 |"]);
    }

    #[test]
    fn differences_are_near_by_one_in_their_digit() {
        for (a, b) in [("9e-5", "1e-4"), ("0e0", "3e-7"), ("4e-4", "4e-4")] {
            assert!(is_near(a, b) && is_near(b, a), "{a} {b}");
        }
        for (a, b) in [("1e-4", "3e-4"), ("0e0", "2e-6"), ("inf", "1e0"), ("2", "3"), ("8e-5", "1e-4")] {
            assert!(!is_near(a, b) && !is_near(b, a), "{a} {b}");
        }
    }
}
