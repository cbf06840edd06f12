//! HTML pages: what all experiments found, and any chapters of figures and tables (`document`).
//!
//! Invariants: the page stands alone - no script, no font, no picture and no style comes from elsewhere;
//! every text is escaped; nothing is shown by colour alone. It is always made: a figure that cannot be drawn
//! says why in its place.

mod document;
mod parts;

use maud::{Markup, html};

use crate::findings::{Check, Finding, Verdict};
use crate::plot::printable;
use crate::table::Table;

pub use document::{Chapter, data_of, document, document_with_data};
use parts::{figure, html_page, ids, result, table};

/// A table about all findings together.
///
/// What a reader must know before the findings is shown above them, all else below.
#[derive(Clone, Debug, PartialEq)]
pub struct Appendix {
    /// What it says, a paragraph each.
    pub about: Vec<String>,
    /// The table. Its title is the heading.
    pub table: Table,
    /// Whether it is shown above the findings.
    pub first: bool,
}

/// A page about `findings`, in their order: all verdicts at the top, then a section for each. `lead` is what
/// is said first, a paragraph each: how it was run, with what. `appendices` are what is true of all of them
/// together.
///
/// ```
/// use paceline_report::{Finding, page};
///
/// let finding = Finding { name: "psx-fig12".into(), title: "Gain & domains".into(), ..Finding::default() };
/// let page = page("Experiments", &["A quick run.".into()], &[finding], &[]);
/// assert!(page.contains("Gain &amp; domains") && page.contains(r##"href="#psx-fig12""##));
/// ```
pub fn page(title: &str, lead: &[String], findings: &[Finding], appendices: &[Appendix]) -> String {
    let ids = ids(findings.iter().map(|finding| finding.name.as_str()));
    let shown = || findings.iter().zip(&ids);
    let head = html! {
        p class="lead" { (in_short(findings)) }
        @for paragraph in lead { p { (printable(paragraph)) } }
    };
    let main = html! {
        (summary(findings, &ids))
        @for (place, appendix) in appendices.iter().enumerate().filter(|(_, one)| one.first) {
            (of_all(appendix, place))
        }
        @for (finding, id) in shown() { (section(finding, id)) }
        @for (place, appendix) in appendices.iter().enumerate().filter(|(_, one)| !one.first) {
            (of_all(appendix, place))
        }
    };
    html_page(title, &head, &main)
}

/// What is true of all findings together.
fn of_all(appendix: &Appendix, place: usize) -> Markup {
    let id = format!("appendix:{place}");
    let heading = format!("{id}:heading");
    html! {
        section id=(id) aria-labelledby=(heading) {
            a class="top" href="#top" { "to the top" }
            h2 id=(heading) { (printable(appendix.table.title())) }
            @for paragraph in &appendix.about { p { (printable(paragraph)) } }
            (table(&appendix.table))
        }
    }
}

/// How many experiments and checks have which verdict.
fn in_short(findings: &[Finding]) -> String {
    let checks = || findings.iter().flat_map(|finding| &finding.checks);
    format!(
        "{} experiments: {}. {} checks: {}.",
        findings.len(),
        Verdict::counts(findings.iter().map(Finding::verdict)),
        checks().count(),
        Verdict::counts(checks().map(Check::verdict))
    )
}

/// All verdicts, with links to the sections.
fn summary(findings: &[Finding], ids: &[String]) -> Markup {
    html! {
        div class="scroll" tabindex="0" role="region" aria-label="All experiments" {
            table {
                caption { "All experiments" }
                thead {
                    tr {
                        th scope="col" { "experiment" }
                        th scope="col" { "about" }
                        th scope="col" { "ran on" }
                        th scope="col" { "verdict" }
                        th scope="col" { "checks" }
                        th scope="col" class="number" { "seconds" }
                    }
                }
                tbody {
                    @for (finding, id) in findings.iter().zip(ids) {
                        tr class=[row_class(finding.verdict())] {
                            th scope="row" { a href=(format!("#{id}")) { (printable(&finding.name)) } }
                            td { (printable(&finding.title)) }
                            td { (finding.ran_on.name()) }
                            td { (result(finding.verdict())) }
                            td { (counted(finding)) }
                            td class="number" { (format!("{:.1}", finding.wall_seconds)) }
                        }
                    }
                }
            }
        }
    }
}

/// How many of its checks have which verdict, but for verdicts that none has.
fn counted(finding: &Finding) -> String {
    let of = |verdict: Verdict| {
        let count = finding.checks.iter().filter(|check| check.verdict() == verdict).count();
        (count > 0).then(|| format!("{count} {}", verdict.name()))
    };
    Verdict::ALL.into_iter().filter_map(of).collect::<Vec<_>>().join(", ")
}

fn row_class(verdict: Verdict) -> Option<&'static str> {
    (verdict == Verdict::Differs).then_some("fails")
}

fn section(finding: &Finding, id: &str) -> Markup {
    let heading = format!("{id}:heading");
    html! {
        section id=(id) aria-labelledby=(heading) {
            a class="top" href="#top" { "to the top" }
            h2 id=(heading) { (printable(&finding.title)) }
            p class="name" { code { (printable(&finding.name)) } " · " (result(finding.verdict())) }
            p { strong { (finding.ran_on.sentence()) } }
            @for paragraph in &finding.about { p { (printable(paragraph)) } }
            @if let Some(fit) = &finding.fit {
                p { (printable(&fit.vector_sentence())) }
                p { (printable(&fit.error_sentence())) }
            }
            @if finding.checks.is_empty() {
                p { "Nothing is checked." }
            } @else {
                (checks(finding))
            }
            @if let Some(fit) = &finding.fit { (table(&fit.table())) }
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

/// The checks, those that differ marked.
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
                        tr class=[row_class(check.verdict())] {
                            @for (place, cell) in row.iter().enumerate() {
                                @if place == 0 {
                                    th scope="row" { (printable(cell)) }
                                } @else if place == last {
                                    td { (result(check.verdict())) }
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
