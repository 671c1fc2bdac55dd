//! One page of HTML, with everything in it: no script, nothing fetched.

use std::fmt::Write as _;

use super::{Counts, Totals, escaped, label};
use crate::campaign::record::Verdict;

/// Cases that are listed one by one; the numbers above count all of them.
const LISTED_MAX: usize = 5000;

const STYLE: &str = "body{font:15px/1.4 system-ui,sans-serif;margin:2em;max-width:80em}\
table{border-collapse:collapse;margin:1em 0}td,th{border:1px solid #bbb;padding:.2em .6em;text-align:left;vertical-align:top}\
td.n{text-align:right}.wrong,.unfinished,.crashed,.error,.timeout,.memory,.unreadable{background:#fdd}.refused,.hang{background:#ffd}\
.passed,.ran{background:#dfd}code{font-size:90%}";

impl Totals {
    /// The report as a page.
    pub fn html(&self) -> String {
        let mut html = format!(
            "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>ane campaign</title><style>{STYLE}</style>\n\
             <h1>Campaign: {} cases</h1>\n",
            self.total.cases
        );
        self.families(&mut html);
        self.ranking(&mut html);
        self.cases(&mut html);
        for (count, what) in [
            (self.damaged, "lines are cut short; run their part again, if that was not done"),
            (self.repeated, "lines are of cases that were counted already"),
        ] {
            if count > 0 {
                let _ = writeln!(html, "<p>{count} {what}.</p>");
            }
        }
        for contradiction in &self.contradictions {
            let _ = writeln!(html, "<p class=\"wrong\">contradiction: {}</p>", escaped(contradiction));
        }
        html.push_str("</html>\n");
        html
    }

    fn families(&self, html: &mut String) {
        let shown: Vec<Verdict> =
            Verdict::ALL.into_iter().filter(|&verdict| self.total.count(verdict) > 0).collect();
        html.push_str("<table><tr><th>family<th>cases");
        for verdict in &shown {
            let _ = write!(html, "<th>{}", verdict.name());
        }
        html.push_str("<th>inferred<th>max error<th>seconds</tr>\n");
        let row = |html: &mut String, name: &str, row: &Counts| {
            let _ = write!(html, "<tr><td>{}<td class=\"n\">{}", escaped(name), row.cases);
            for &verdict in &shown {
                let count = row.count(verdict);
                let class = if count > 0 { verdict.name() } else { "" };
                let _ = write!(html, "<td class=\"n {class}\">{count}");
            }
            let error = row.max_error.map_or_else(String::new, |error| format!("{error:.3e}"));
            let seconds = row.milliseconds / 1000.0;
            let _ = writeln!(
                html,
                "<td class=\"n\">{}<td class=\"n\">{error}<td class=\"n\">{seconds:.2}</tr>",
                row.inferred
            );
        };
        for (name, numbers) in &self.families {
            row(html, name, numbers);
        }
        row(html, "total", &self.total);
        html.push_str("</table>\n");
    }

    fn ranking(&self, html: &mut String) {
        if self.refusals.is_empty() {
            return;
        }
        html.push_str("<h2>Refused</h2>\n<table><tr><th>cases<th>register<th>bits<th>why<th>values<th>families<th>such as</tr>\n");
        for refusal in &self.refusals {
            let values = refusal.values.iter();
            let values: Vec<String> =
                values.map(|(value, count)| format!("{} &times; {count}", escaped(value))).collect();
            let _ = writeln!(
                html,
                "<tr><td class=\"n\">{}<td><code>{}</code><td><code>{}</code><td>{}<td><code>{}</code><td>{}<td>{}</tr>",
                refusal.cases,
                escaped(&refusal.register),
                escaped(&refusal.bits),
                escaped(&refusal.why),
                values.join("<br>"),
                escaped(&refusal.families.join(", ")),
                escaped(&refusal.example)
            );
        }
        html.push_str("</table>\n");
    }

    fn cases(&self, html: &mut String) {
        html.push_str("<h2>Cases</h2>\n<table><tr><th>case<th>family<th>verdict<th>why</tr>\n");
        // Results that have to be looked into come first.
        let order = |failure: bool| {
            self.records.iter().filter(move |record| record.outcome.verdict.is_failure() == failure)
        };
        for record in order(true).chain(order(false)).take(LISTED_MAX) {
            let verdict = record.outcome.verdict.name();
            let _ = writeln!(
                html,
                "<tr><td>{}<td>{}<td class=\"{verdict}\">{verdict}<td>{}</tr>",
                escaped(&label(record)),
                escaped(&record.family),
                escaped(record.outcome.reason.as_deref().unwrap_or(""))
            );
        }
        html.push_str("</table>\n");
        let left = self.records.len().saturating_sub(LISTED_MAX);
        if left > 0 {
            let _ = writeln!(html, "<p>{left} more are not listed.</p>");
        }
    }
}
