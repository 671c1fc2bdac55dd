//! The list of requirements, as `requirements.txt` holds it.

use std::collections::BTreeSet;

use anyhow::{Context, Result, bail, ensure};

#[derive(Debug)]
pub(super) struct Requirement {
    pub(super) id: String,
    pub(super) statement: String,
}

/// The requirements whose ids begin alike.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) name: String,
    pub(super) about: String,
    pub(super) members: Vec<Requirement>,
}

#[derive(Debug)]
pub(super) struct Requirements {
    pub(super) groups: Vec<Group>,
    ids: BTreeSet<String>,
}

impl Requirements {
    /// Reads the list: `## GROUP<TAB>about`, then `ID<TAB>statement`; other lines with `#` are comments.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let mut list = Self { groups: Vec::new(), ids: BTreeSet::new() };
        for (index, line) in text.lines().enumerate() {
            list.line(line).with_context(|| format!("requirements.txt:{}", index + 1))?;
        }
        Ok(list)
    }

    pub(super) fn contains(&self, id: &str) -> bool {
        self.ids.contains(id)
    }

    fn line(&mut self, line: &str) -> Result<()> {
        if let Some(group) = line.strip_prefix("## ") {
            let (name, about) = group.split_once('\t').context("group without a word of what it is about")?;
            self.groups.push(Group { name: name.into(), about: about.into(), members: Vec::new() });
        } else if !line.is_empty() && !line.starts_with('#') {
            let requirement = requirement(line)?;
            let group = self.groups.last_mut().context("requirement outside a group")?;
            let id = &requirement.id;
            let number = id.strip_prefix(&group.name).and_then(|rest| rest.strip_prefix('-'));
            ensure!(number.is_some(), "{id} stands in group {}", group.name);
            ensure!(self.ids.insert(id.clone()), "{id} stands twice");
            group.members.push(requirement);
        }
        Ok(())
    }
}

fn requirement(line: &str) -> Result<Requirement> {
    let mut columns = line.split('\t');
    let id = columns.next().unwrap_or_default().to_owned();
    let statement = columns.next().with_context(|| format!("{id} has no statement"))?.to_owned();
    if let Some(more) = columns.next() {
        bail!("{id} has a third column, {more:?}");
    }
    Ok(Requirement { id, statement })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        format!("{:#}", Requirements::parse(text).expect_err("malformed"))
    }

    #[test]
    fn line_has_an_id_and_a_statement() {
        let list = Requirements::parse("# words\n\n## A\tall\nA-01\tone thing\nA-02\tother\n");
        let group = &list.expect("well formed").groups[0];
        assert_eq!(
            (group.members[0].id.as_str(), group.members[0].statement.as_str()),
            ("A-01", "one thing")
        );
        assert_eq!(group.members.len(), 2);
    }

    #[test]
    fn malformed_line_is_refused_by_its_number() {
        assert_eq!(refusal("A-01\tone"), "requirements.txt:1: requirement outside a group");
        assert_eq!(refusal("## A\tall\nA-01"), "requirements.txt:2: A-01 has no statement");
        assert_eq!(refusal("## A\tall\nB-01\tone"), "requirements.txt:2: B-01 stands in group A");
        assert_eq!(refusal("## A\tall\nA-01\tx\nA-01\ty"), "requirements.txt:3: A-01 stands twice");
        assert_eq!(refusal("## A\tall\nA-01\tx\tz"), "requirements.txt:2: A-01 has a third column, \"z\"");
    }
}
