//! A page of chapters, each with paragraphs, commands, maps, figures and tables, for what is no experiment
//! with a verdict. It may carry its data as JSON, to be read by programs.

use maud::{PreEscaped, html};

use crate::figure::Figure;
use crate::map::{self, Map};
use crate::plot::printable;
use crate::table::Table;

use super::parts::{figure, html_page, ids, table};

/// A chapter of a page.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chapter {
    /// What links lead to: `mean_travel_s`.
    pub name: String,
    /// Its heading.
    pub title: String,
    /// What is said first, a paragraph each.
    pub about: Vec<String>,
    /// Lines for a terminal, shown next as they are.
    pub commands: Vec<String>,
    /// Maps, shown next, in this order.
    pub maps: Vec<Map>,
    /// Shown next, in this order.
    pub figures: Vec<Figure>,
    /// Shown last, in this order.
    pub tables: Vec<Table>,
}

/// A page of `chapters`, in their order, with links to them at the top where there are several. `lead` is
/// what is said first, a paragraph each.
///
/// ```
/// use paceline_report::{Chapter, document};
///
/// let chapter = |(name, title): (&str, &str)| Chapter {
///     name: name.into(),
///     title: title.into(),
///     ..Chapter::default()
/// };
/// let chapters = [("delay", "Delay & loss"), ("load", "Load")].map(chapter);
/// let page = document("A study", &["Ten runs.".into()], &chapters);
/// assert!(page.contains("Delay &amp; loss") && page.contains(r##"href="#delay""##));
/// ```
pub fn document(title: &str, lead: &[String], chapters: &[Chapter]) -> String {
    made(title, lead, chapters, None)
}

/// The same with `data`, one JSON document, which [`data_of`] finds again.
///
/// ```
/// use paceline_report::{data_of, document_with_data};
///
/// let page = document_with_data("A run", &[], &[], r#"{"end":"</script>"}"#);
/// assert_eq!(data_of(&page), Some(r#"{"end":"\u003c/script>"}"#));
/// ```
pub fn document_with_data(title: &str, lead: &[String], chapters: &[Chapter], data: &str) -> String {
    made(title, lead, chapters, Some(data))
}

/// What surrounds the data of a page.
const DATA: [&str; 2] = [r#"<script type="application/json" id="data">"#, "</script>"];

/// The data of a page that [`document_with_data`] has made.
pub fn data_of(page: &str) -> Option<&str> {
    let (_, rest) = page.split_once(DATA[0])?;
    Some(rest.split_once(DATA[1])?.0)
}

fn made(title: &str, lead: &[String], chapters: &[Chapter], data: Option<&str>) -> String {
    let ids = ids(chapters.iter().map(|chapter| chapter.name.as_str()));
    let shown = || chapters.iter().zip(&ids);
    let head = html! {
        @for paragraph in lead { p { (printable(paragraph)) } }
        @if chapters.len() > 1 {
            nav aria-label="Chapters" {
                ul { @for (chapter, id) in shown() { li { a href=(format!("#{id}")) { (printable(&chapter.title)) } } } }
            }
        }
    };
    let main = html! {
        @for (chapter, id) in shown() {
            @let heading = format!("{id}:heading");
            section id=(id) aria-labelledby=(heading) {
                a class="top" href="#top" { "to the top" }
                h2 id=(heading) { (printable(&chapter.title)) }
                @for paragraph in &chapter.about { p { (printable(paragraph)) } }
                @if !chapter.commands.is_empty() {
                    pre class="scroll" tabindex="0" { code { (printable_lines(&chapter.commands)) } }
                }
                @for (place, one) in chapter.maps.iter().enumerate() { (map::drawn(one, &format!("{id}:map:{place}"))) }
                @for (place, one) in chapter.figures.iter().enumerate() { (figure(one, &format!("{id}:{place}"))) }
                @for one in &chapter.tables { (table(one)) }
            }
        }
        @if let Some(data) = data {
            // Within strings of JSON, where alone it may stand, this is the same letter; here it would end
            // the element.
            (PreEscaped(format!("{}{}{}", DATA[0], data.replace('<', "\\u003c"), DATA[1])))
        }
    };
    html_page(title, &head, &main)
}

/// Lines, each of them without control characters.
fn printable_lines(lines: &[String]) -> String {
    lines.iter().map(|line| printable(line)).collect::<Vec<_>>().join("\n")
}
