//! Which operand a text means.

/// The place among `names` of the operand that `asked` means: by its name, by the part of it in front of an `@` if only one
/// has that, or by its number.
///
/// # Examples
///
/// ```
/// use ane::container::find_operand;
///
/// let names = ["1", "image@input"];
/// let found = |asked| find_operand(names.into_iter(), asked);
/// assert_eq!(found("image"), Some(1));
/// assert_eq!(found("1"), Some(0), "a name counts more than a number");
/// assert_eq!(found("2"), None);
/// ```
pub fn find_operand<'n>(names: impl Iterator<Item = &'n str> + Clone, asked: &str) -> Option<usize> {
    if let Some(index) = names.clone().position(|name| name == asked) {
        return Some(index);
    }
    let is_short_for = |name: &str| name.rsplit_once('@').is_some_and(|(short, _)| short == asked);
    let mut alike = names.clone().enumerate().filter(|(_, name)| is_short_for(name));
    match (alike.next(), alike.next()) {
        (Some((index, _)), None) => Some(index),
        _ => asked.parse().ok().filter(|&index| index < names.count()),
    }
}
