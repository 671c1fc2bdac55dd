//! Which operand a text means, and what is given for each.

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

/// A name that is given and cannot be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misgiven<'g> {
    /// No operand is meant by it.
    Unknown(&'g str),
    /// It means an operand that another name before it means.
    Twice(&'g str),
}

/// For each of the operands called `names` what is given under a name that means it.
///
/// # Errors
///
/// The first name that means none, or one that has something already.
pub fn assign<'n, 'g, T>(
    names: impl Iterator<Item = &'n str> + Clone,
    given: impl Iterator<Item = (&'g str, T)>,
) -> Result<Vec<Option<T>>, Misgiven<'g>> {
    let mut assigned: Vec<Option<T>> = names.clone().map(|_| None).collect();
    for (asked, one) in given {
        let slot = find_operand(names.clone(), asked).and_then(|index| assigned.get_mut(index));
        if slot.ok_or(Misgiven::Unknown(asked))?.replace(one).is_some() {
            return Err(Misgiven::Twice(asked));
        }
    }
    Ok(assigned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_operand_has_what_is_given_under_a_name_of_it_and_nothing_twice() {
        let names = || ["1", "image@input", "z"].into_iter();
        let given = |given: &[&'static str]| assign(names(), given.iter().map(|&name| (name, name)));
        assert_eq!(given(&["2", "image"]), Ok(vec![None, Some("image"), Some("2")]));
        assert_eq!(given(&["1", "0"]), Err(Misgiven::Twice("0")));
        assert_eq!(given(&["3"]), Err(Misgiven::Unknown("3")));
    }
}
