//! A task's report as text.

use std::fmt::{self, Write};

use super::{GLUE, Style, hanging, wrapped};
use crate::count::count;
use crate::decode::task::{BlockReport, FieldReport, RegisterReport, TaskReport, Wording};

/// Width of the column that holds the register's name.
const NAME: usize = 24;

pub(super) fn write(out: &mut impl Write, task: &TaskReport, style: Style) -> fmt::Result {
    writeln!(out, "task {} at {}, {} bytes: {}", task.index, task.offset, task.bytes, task.summary)?;
    let bases: Vec<String> =
        task.bases.iter().map(|base| format!("{} BAR {} ({})", base.what, base.bar, base.role)).collect();
    if !bases.is_empty() {
        hanging(out, "", &glued(&bases))?;
    }
    if let Some(changed) = task.changed {
        let differ = if changed == 1 { "differs" } else { "differ" };
        writeln!(
            out,
            "  {} {differ} from task {} (marked *)",
            count(changed, "register"),
            task.index.saturating_sub(1)
        )?;
    }
    if style.changes_only && task.changed.is_some() {
        let changed: Vec<_> = task.header.iter().filter(|word| word.was.is_some()).collect();
        if !changed.is_empty() {
            writeln!(out, "  header")?;
            lines(out, &runs(&changed), style)?;
        }
    } else {
        writeln!(out, "  header")?;
        registers(out, &task.header, style)?;
    }
    for block in &task.blocks {
        self::block(out, block, style, task.changed.is_some())?;
    }
    Ok(())
}

fn block(out: &mut impl Write, block: &BlockReport, style: Style, has_previous: bool) -> fmt::Result {
    let only_changes = style.changes_only && has_previous;
    if only_changes && block.registers.iter().all(|register| register.was.is_none()) {
        return Ok(());
    }
    writeln!(
        out,
        "  {}: {} from {:#07x}, record at {}",
        block.name,
        count(block.registers.len(), "register"),
        block.address.0,
        block.offset
    )?;
    if block.missing != 0 {
        writeln!(out, "    the last {} lie behind the descriptor's end, and are zero", block.missing)?;
    }
    if let Some(unknown) = block.unknown_bits {
        writeln!(out, "    [unknown bits {unknown} in the record's first word]")?;
    }
    if only_changes {
        let changed: Vec<_> = block.registers.iter().filter(|register| register.was.is_some()).collect();
        return lines(out, &runs(&changed), style);
    }
    registers(out, &block.registers, style)
}

/// Prints registers; those that are zero, and were, share a line at the end.
fn registers(out: &mut impl Write, registers: &[RegisterReport], style: Style) -> fmt::Result {
    let registers: Vec<_> = registers.iter().collect();
    let runs = runs(&registers);
    if style.all || style.explain {
        return lines(out, &runs, style);
    }
    let (zero, said): (Vec<Neighbours<'_>>, Vec<Neighbours<'_>>) =
        runs.into_iter().partition(|run| run.first.value.0 == 0 && run.first.was.is_none());
    lines(out, &said, style)?;
    if zero.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = zero.iter().map(Neighbours::name).collect();
    wrapped(out, 4, &format!("zero: {}", names.join(", ")))
}

/// Neighbours of one array that hold the same word, and share a line.
struct Neighbours<'a> {
    first: &'a RegisterReport,
    last: &'a RegisterReport,
}

impl Neighbours<'_> {
    fn name(&self) -> String {
        match (self.first.name, self.first.index, self.last.index) {
            (Some(name), Some(from), Some(to)) if from != to => format!("{name}[{from}..{to}]"),
            (Some(name), Some(index), _) => format!("{name}[{index}]"),
            (Some(name), None, _) => name.to_owned(),
            (None, ..) => format!("? {:#07x}", self.first.address.0),
        }
    }
}

fn runs<'a>(registers: &[&'a RegisterReport]) -> Vec<Neighbours<'a>> {
    let alike = |a: &&RegisterReport, b: &&RegisterReport| {
        a.name.is_some()
            && a.name == b.name
            && a.value == b.value
            && a.was == b.was
            && a.index.zip(b.index).is_some_and(|(a, b)| a + 1 == b)
    };
    let run = |run: &[&'a RegisterReport]| Some(Neighbours { first: run.first()?, last: run.last()? });
    registers.chunk_by(alike).filter_map(run).collect()
}

fn lines(out: &mut impl Write, runs: &[Neighbours<'_>], style: Style) -> fmt::Result {
    for run in runs {
        let register = run.first;
        let mark = if register.was.is_some() { '*' } else { ' ' };
        let head = format!("  {mark} {:NAME$} {}", run.name(), register.value);
        let mut said: Vec<String> = Vec::new();
        if register.value.0 != 0 || style.all {
            said.extend(register.fields.iter().filter_map(|field| brief(field, register, style)));
        }
        // A field and its value stay on one line.
        let mut tail = glued(&said);
        if let Some(unknown) = register.unknown_bits {
            let _ = write!(tail, "  [unknown{GLUE}bits{GLUE}{unknown}]");
        }
        if let Some(was) = register.was {
            let _ = write!(tail, "  (was{GLUE}{was})");
        }
        hanging(out, &head, tail.trim_start())?;
        if style.explain {
            explain(out, register)?;
        }
    }
    Ok(())
}

/// The field as one item of a line; `None` where it says nothing.
fn brief(field: &FieldReport, register: &RegisterReport, style: Style) -> Option<String> {
    if field.value == 0 && !field.enumerated && !style.all {
        return None;
    }
    match field.wording() {
        Wording::Flag if field.value != 0 => Some(field.name.to_owned()),
        Wording::Flag => Some(format!("no {}", field.name)),
        // The register says it already.
        Wording::WholeWord if field.value == register.value.0 => None,
        Wording::Quantity => Some(field.shown.clone()),
        Wording::WholeWord | Wording::Named => Some(format!("{} {}", field.name, field.shown)),
    }
}

fn explain(out: &mut impl Write, register: &RegisterReport) -> fmt::Result {
    let cited = if register.source.is_empty() {
        String::new()
    } else {
        format!(" [{}; {}]", register.grade, register.source)
    };
    wrapped(out, 8, &format!("{}{cited}", register.meaning))?;
    for field in &register.fields {
        let grade = field.grade.map(|grade| format!(" [{grade}]")).unwrap_or_default();
        let value = field.value_meaning.map(|meaning| format!(" Here: {meaning}")).unwrap_or_default();
        wrapped(
            out,
            10,
            &format!("{} ({}) = {}: {}{value}{grade}", field.name, field.bits, field.shown, field.meaning),
        )?;
    }
    Ok(())
}

/// The items of a list, each of which stays whole when the line is broken.
fn glued(items: &[String]) -> String {
    items.iter().map(|item| item.replace(' ', GLUE)).collect::<Vec<_>>().join(", ")
}
