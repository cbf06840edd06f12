//! A page of chapters, each with paragraphs, figures and tables, for what is no experiment with a verdict.

use maud::html;

use crate::figure::Figure;
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
                @for (place, one) in chapter.figures.iter().enumerate() { (figure(one, &format!("{id}:{place}"))) }
                @for one in &chapter.tables { (table(one)) }
            }
        }
    };
    html_page(title, &head, &main)
}
