//! One HTML page that shows what all experiments found.
//!
//! Invariants: the page stands alone - no script, no font, no picture and no style comes from elsewhere;
//! every text is escaped; nothing is shown by colour alone. It is always made: a figure that cannot be drawn
//! says why in its place.

mod parts;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::findings::Finding;
use crate::plot::printable;
use crate::table::Table;
use crate::theme::style_sheet;

use parts::{figure, result, table};

/// A table about all findings together.
#[derive(Clone, Debug, PartialEq)]
pub struct Appendix {
    /// What it says, a paragraph each.
    pub about: Vec<String>,
    /// The table. Its title is the heading.
    pub table: Table,
}

/// A page about `findings`, in their order: what holds at the top, then a section for each. `lead` is what is
/// said first, a paragraph each: how it was run, with what. `appendix` is shown last: what holds for all of
/// them together.
///
/// ```
/// use paceline_report::{Finding, page};
///
/// let finding = Finding { name: "psx-fig12".into(), title: "Gain & domains".into(), ..Finding::default() };
/// let page = page("Experiments", &["A quick run.".into()], &[finding], None);
/// assert!(page.contains("Gain &amp; domains") && page.contains(r##"href="#psx-fig12""##));
/// ```
pub fn page(title: &str, lead: &[String], findings: &[Finding], appendix: Option<&Appendix>) -> String {
    let ids = ids(findings);
    let shown = || findings.iter().zip(&ids);
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (printable(title)) }
                // An empty picture: browsers ask for none from elsewhere.
                link rel="icon" href="data:,";
                style { (PreEscaped(style_sheet())) }
            }
            body {
                header id="top" {
                    h1 { (printable(title)) }
                    p class="lead" { (in_short(findings)) }
                    @for paragraph in lead { p { (printable(paragraph)) } }
                }
                main {
                    (summary(findings, &ids))
                    @for (finding, id) in shown() { (section(finding, id)) }
                    @if let Some(appendix) = appendix { (last(appendix)) }
                }
            }
        }
    };
    page.into_string()
}

/// The ids of the findings' sections: their names, with a number where two would be the same.
fn ids(findings: &[Finding]) -> Vec<String> {
    let mut ids: Vec<String> = Vec::new();
    for finding in findings {
        let plain = |one: char| if one.is_ascii_alphanumeric() || "-_.".contains(one) { one } else { '-' };
        let name: String = finding.name.chars().map(plain).collect();
        let mut id = name.clone();
        for number in 2.. {
            // The page's own ids, and those of figures, which end in numbers after a colon, are taken.
            if !id.is_empty() && id != "top" && id != "appendix" && !ids.contains(&id) {
                break;
            }
            id = format!("{name}-{number}");
        }
        ids.push(id);
    }
    ids
}

/// What is shown last.
fn last(appendix: &Appendix) -> Markup {
    html! {
        section id="appendix" aria-labelledby="appendix:heading" {
            a class="top" href="#top" { "to the top" }
            h2 id="appendix:heading" { (printable(appendix.table.title())) }
            @for paragraph in &appendix.about { p { (printable(paragraph)) } }
            (table(&appendix.table))
        }
    }
}

fn in_short(findings: &[Finding]) -> String {
    let holding = findings.iter().filter(|finding| finding.holds()).count();
    let checks: usize = findings.iter().map(|finding| finding.checks.len()).sum();
    let held: usize = findings.iter().map(Finding::held).sum();
    format!("{holding} of {} experiments hold; {held} of {checks} checks.", findings.len())
}

/// What holds, with links to the sections.
fn summary(findings: &[Finding], ids: &[String]) -> Markup {
    html! {
        div class="scroll" tabindex="0" role="region" aria-label="All experiments" {
            table {
                caption { "All experiments" }
                thead {
                    tr {
                        th scope="col" { "experiment" }
                        th scope="col" { "about" }
                        th scope="col" { "result" }
                        th scope="col" class="number" { "checks" }
                        th scope="col" class="number" { "seconds" }
                    }
                }
                tbody {
                    @for (finding, id) in findings.iter().zip(ids) {
                        tr class=[(!finding.holds()).then_some("fails")] {
                            th scope="row" { a href=(format!("#{id}")) { (printable(&finding.name)) } }
                            td { (printable(&finding.title)) }
                            td { (result(finding.holds())) }
                            td class="number" { (finding.held()) "/" (finding.checks.len()) }
                            td class="number" { (format!("{:.1}", finding.wall_seconds)) }
                        }
                    }
                }
            }
        }
    }
}

fn section(finding: &Finding, id: &str) -> Markup {
    let heading = format!("{id}:heading");
    html! {
        section id=(id) aria-labelledby=(heading) {
            a class="top" href="#top" { "to the top" }
            h2 id=(heading) { (printable(&finding.title)) }
            p class="name" { code { (printable(&finding.name)) } " · " (result(finding.holds())) }
            @for paragraph in &finding.about { p { (printable(paragraph)) } }
            @if finding.checks.is_empty() {
                p { "Nothing is checked." }
            } @else {
                (checks(finding))
            }
            @for (place, sweep) in finding.sweeps.iter().enumerate() {
                p { (printable(&sweep.sentence())) }
                (figure(&sweep.figure(), &format!("{id}:sweep:{place}")))
            }
            @for (place, one) in finding.figures.iter().enumerate() { (figure(one, &format!("{id}:{place}"))) }
            @for one in &finding.tables { (table(one)) }
            @if !finding.notes.is_empty() {
                h3 { "Notes" }
                ul class="notes" { @for note in &finding.notes { li { (printable(note)) } } }
            }
        }
    }
}

/// The checks, those that fail marked.
fn checks(finding: &Finding) -> Markup {
    let shown = finding.check_table();
    let last = shown.columns().len() - 1;
    html! {
        div class="scroll" tabindex="0" role="region" aria-label="Checks" {
            table {
                caption { "Checks" }
                thead { tr { @for column in shown.columns() { th scope="col" { (column) } } } }
                tbody {
                    @for (check, row) in finding.checks.iter().zip(shown.rows()) {
                        tr class=[(!check.holds).then_some("fails")] {
                            @for (place, cell) in row.iter().enumerate() {
                                @if place == 0 {
                                    th scope="row" { (printable(cell)) }
                                } @else if place == last {
                                    td { (result(check.holds)) }
                                } @else {
                                    td { (printable(cell)) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
