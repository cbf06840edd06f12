//! Modules of a crate know each other in one direction: of two that stand beside each other, at most one uses
//! the other, directly or by way of further ones. Whoever reads a module then need not read those that use
//! it. Parents and children may know each other.
//!
//! The text of the sources is what is looked at: `use` and paths that begin with `crate` or `super`, without
//! tests. A name that a module imports counts as that of the module that it comes from.

use std::collections::{BTreeMap, BTreeSet};

use crate::project::crates;
use crate::style::sources;

/// The circles that there are still: the crate, the parent of the modules (`.` for the crate itself), and the
/// modules. It only shrinks.
const KNOWN: &[&str] = &[
    "lab/experiments .: batch parameters",
    "lab/experiments cs: machine runs",
    "lab/experiments cs: parallel turns",
    "simulation/engine .: adapt outside panics peers protocols report run simulation speculation watch workers",
    "simulation/kernel .: at_work context digest event fault federate model origin outbox panics partition protocol queue waiting withdrawn world",
    "simulation/processes .: activity context desk process sync",
    "simulation/processes core: carrier line parcels",
    "simulation/processes federates: agenda mail",
    "simulation/processes federates: housed part",
];

/// A module, or a path, by its parts from the root of the crate.
type Path = Vec<String>;

/// What stands in the sources of a crate: which module uses which paths.
struct Uses(BTreeMap<Path, Vec<Path>>);

/// A source without comments, without the content of strings, and without its tests at the end.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let (mut code, mut rest) = (String::new(), text);
    while let Some(place) = rest.find(['/', '"', '\'']) {
        let (before, found) = rest.split_at(place);
        code.push_str(before);
        rest = if found.starts_with("//") {
            found.split_once('\n').map_or("", |(_, rest)| rest)
        } else if let Some(rest) = found.strip_prefix("'\"'") {
            rest
        } else if let Some(string) = found.strip_prefix('"') {
            end_of_string(string)
        } else {
            code.push_str(&found[..1]);
            &found[1..]
        };
    }
    code + rest
}

/// What follows a string, of whose opening quotation mark this is the rest.
fn end_of_string(string: &str) -> &str {
    let mut escaped = false;
    let end = string.char_indices().find(|(_, symbol)| {
        let ends = *symbol == '"' && !escaped;
        escaped = *symbol == '\\' && !escaped;
        ends
    });
    end.map_or("", |(place, _)| &string[place + 1..])
}

/// The paths of a `use`, such as `crate::{text, run::{self, How}}`.
fn paths(tree: &str, before: &[String]) -> Vec<Path> {
    let parts = |text: &str| {
        let parts = text.split("::").map(|part| part.split(" as ").next().unwrap_or_default().trim());
        let parts = parts.filter(|part| !part.is_empty() && *part != "self").map(str::to_owned);
        before.iter().cloned().chain(parts).collect::<Path>()
    };
    let Some((head, body)) = tree.split_once('{') else { return vec![parts(tree)] };
    let (body, head) = (body.rsplit_once('}').map_or(body, |(body, _)| body), parts(head));
    let (mut depth, mut found) = (0, Vec::new());
    let items = body.split(|symbol| {
        depth += i32::from(symbol == '{') - i32::from(symbol == '}');
        symbol == ',' && depth == 0
    });
    for item in items.filter(|item| !item.trim().is_empty()) {
        found.extend(paths(item, &head));
    }
    found
}

/// All paths that a source names.
fn named(code: &str) -> Vec<Path> {
    let is_part = |symbol: char| symbol.is_alphanumeric() || symbol == '_';
    let begins = |before: &str| !before.ends_with(|symbol: char| is_part(symbol) || symbol == ':');
    let mut found = Vec::new();
    let mut others = String::new();
    let mut rest = code;
    while let Some(place) = rest.find("use ") {
        let (before, here) = rest.split_at(place);
        others.push_str(before);
        let Some((tree, after)) = here.split_once(';').filter(|_| begins(before)) else {
            others.push_str("use ");
            rest = &here[4..];
            continue;
        };
        found.extend(paths(&tree[4..], &[]));
        rest = after;
    }
    others.push_str(rest);
    for root in ["crate::", "super::"] {
        for (place, _) in others.match_indices(root).filter(|(place, _)| begins(&others[..*place])) {
            let path = &others[place..];
            let end = path.find(|symbol| !is_part(symbol) && symbol != ':').unwrap_or(path.len());
            found.extend(paths(path[..end].trim_end_matches(':'), &[]));
        }
    }
    found
}

impl Uses {
    /// Of the crate in `folder`.
    fn of(folder: &str) -> Self {
        let source = format!("{folder}/src/");
        let mut uses = BTreeMap::new();
        for (name, text) in sources(&format!("{folder}/src")) {
            let file = name.trim_start_matches(&source).trim_end_matches(".rs");
            let module: Path = file.split('/').map(str::to_owned).collect();
            if module.iter().any(|part| ["test", "tests", "bin"].contains(&&**part)) {
                continue;
            }
            let is_root = file == "lib" || file == "main";
            uses.insert(if is_root { Path::new() } else { module }, named(&code(&text)));
        }
        Self(uses)
    }

    /// The path from the root of the crate that `path` is in `module`; `None` where it leads into another
    /// crate.
    fn path_from_root(&self, module: &[String], path: &[String]) -> Option<Path> {
        let (first, rest) = path.split_first()?;
        let up = path.iter().take_while(|part| *part == "super").count();
        match &**first {
            "crate" => Some(rest.to_vec()),
            "super" => Some([module.get(..module.len().checked_sub(up)?)?, &path[up..]].concat()),
            _ => Some([module, path].concat())
                .filter(|_| self.0.contains_key(&[module, std::slice::from_ref(first)].concat())),
        }
    }

    /// The module in which the thing of this path is, followed through the names that modules import.
    fn home(&self, path: &[String], left: u32) -> Path {
        let end = (0..=path.len()).rev().find(|end| self.0.contains_key(&path[..*end]));
        let (module, rest) = path.split_at(end.unwrap_or(0));
        let import = rest.first().filter(|_| left > 0).and_then(|name| {
            let imports = self.0.get(module)?.iter().filter(|import| import.last() == Some(name));
            imports.filter_map(|import| self.path_from_root(module, import)).find(|import| *import != path)
        });
        match import {
            Some(import) => self.home(&[&import, &rest[1..]].concat(), left - 1),
            None => module.to_vec(),
        }
    }

    /// By parent: which of its modules use which others of them.
    fn beside(&self) -> BTreeMap<Path, BTreeMap<String, BTreeSet<String>>> {
        let mut beside: BTreeMap<Path, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
        for (module, uses) in &self.0 {
            for path in uses.iter().filter_map(|path| self.path_from_root(module, path)) {
                let other = self.home(&path, 6);
                let common = module.iter().zip(&other).take_while(|(one, other)| one == other).count();
                if let (Some(one), Some(other)) = (module.get(common), other.get(common)) {
                    let users = beside.entry(module[..common].to_vec()).or_default();
                    users.entry(one.clone()).or_default().insert(other.clone());
                }
            }
        }
        beside
    }
}

/// All that can be reached from `from`.
fn reached<'u>(uses: &'u BTreeMap<String, BTreeSet<String>>, from: &str) -> BTreeSet<&'u str> {
    let (mut open, mut reached) = (vec![from], BTreeSet::new());
    while let Some(module) = open.pop() {
        let next = uses.get(module).into_iter().flatten().map(String::as_str);
        let new: Vec<&str> = next.filter(|other| reached.insert(*other)).collect();
        open.extend(new);
    }
    reached
}

/// The circles of a crate, as they stand in [`KNOWN`].
fn circles(folder: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (parent, uses) in Uses::of(folder).beside() {
        let reach: BTreeMap<&str, _> =
            uses.keys().map(|module| (module.as_str(), reached(&uses, module))).collect();
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        for (module, others) in reach.iter().filter(|(module, others)| others.contains(**module)) {
            if seen.contains(module) {
                continue;
            }
            let back = |other: &&&str| reach.get(**other).is_some_and(|reach| reach.contains(module));
            let circle: Vec<&str> = others.iter().filter(back).copied().collect();
            seen.extend(&circle);
            let parent = if parent.is_empty() { ".".to_owned() } else { parent.join("::") };
            found.push(format!("{folder} {parent}: {}", circle.join(" ")));
        }
    }
    found
}

#[test]
fn modules_know_each_other_in_one_direction() {
    let found: BTreeSet<String> = crates().iter().flat_map(|folder| circles(folder)).collect();
    let known: BTreeSet<String> = KNOWN.iter().map(|circle| (*circle).to_owned()).collect();
    let listed = |circles: Vec<&String>| {
        circles.into_iter().map(|circle| format!("\n    {circle:?},")).collect::<String>()
    };
    let (new, gone) =
        (listed(found.difference(&known).collect()), listed(known.difference(&found).collect()));
    assert!(
        new.is_empty() && gone.is_empty(),
        "new circles, to be taken apart:{new}\ncircles that are no more, to be struck from the list:{gone}"
    );
}

#[test]
fn a_circle_is_found_by_way_of_what_modules_import() {
    let source = |text: &str| named(&code(text));
    let uses = Uses(BTreeMap::from([
        (Path::new(), source("mod a;\nmod b;\nmod c;\npub use b::Thing;\n")),
        (vec!["a".into()], source("use crate::{Thing, c::{self, Other}};\n")),
        (vec!["b".into()], source("// use crate::c;\nconst TEXT: &str = \"crate::c\";\nuse std::fmt;\n")),
        (vec!["c".into()], source("fn f() { crate::a::g(); }\n#[cfg(test)]\nmod test { use crate::b; }\n")),
    ]));
    let beside = uses.beside();
    let of = |module: &str| beside[&Path::new()].get(module).cloned().unwrap_or_default();
    assert_eq!(of("a"), BTreeSet::from(["b".to_owned(), "c".to_owned()]));
    assert_eq!((of("b"), of("c")), (BTreeSet::new(), BTreeSet::from(["a".to_owned()])));
    assert_eq!(reached(&beside[&Path::new()], "c"), BTreeSet::from(["a", "b", "c"]));
}
