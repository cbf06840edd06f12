//! Reads a trace that a scenario's `[model]` names.

use std::path::Path;

use paceline_scenario::{ScenarioError, Section, inputs};

use super::{MpiTrace, TraceError, text_of};

impl MpiTrace {
    /// Reads the keys `trace`, a file of lines `RANK ACTION ARGUMENTS`, or of names of such files, and
    /// `permanent_receivers` (false). The key `kind` is left to the caller.
    pub fn from_section(section: &mut Section) -> Result<Self, ScenarioError> {
        let Some(path) = section.needed_file("trace")? else {
            let problem = "a model that replays a trace, and none is named";
            return Err(section.refuse(
                "trace",
                problem,
                "a file with lines `RANK ACTION ARGUMENTS`, or with names of such files",
            ));
        };
        let refuse = |problem: String| section.refuse("trace", problem, "a trace that can be read");
        let text = read_file(&path).map_err(refuse)?;
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        let mut others = |file: &str| read_file(&folder.join(file));
        let read = Self::read(&path.display().to_string(), &text, &mut others).map_err(|mistake| {
            let TraceError { file, line, problem, allowed } = mistake;
            section.refuse("trace", format!("{file}:{line}: {problem}"), allowed)
        })?;
        let is_permanent = section.or("permanent_receivers", false)?;
        Ok(if is_permanent { read.with_permanent_receivers() } else { read })
    }
}

/// Comments of a trace may be in any encoding.
fn read_file(path: &Path) -> Result<String, String> {
    let reason = |reason: String| format!("{}: {reason}", path.display());
    let bytes = inputs::read(path).map_err(|error| reason(error.to_string()))?;
    text_of(&bytes).map_err(reason)
}
