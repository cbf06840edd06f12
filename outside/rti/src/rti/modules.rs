//! Object models that a call brings: read, and merged with what a federation has.

use paceline_hla::{FomModule, FomModuleSet, FomModuleSource};

use crate::exception::{Answer, CallError, Exception};
use crate::federation::documents::{Document, Documents};
use crate::fom::{Fom, FomError, Module, STANDARD_MIM, STANDARD_MIM_NAME};
use crate::limits::RtiLimits;

/// The texts of modules, with the names by which messages speak of them.
fn texts(modules: &[FomModule], unopened: Exception) -> Answer<Vec<(&str, &[u8])>> {
    let text = |module: &'_ FomModule| match &module.source {
        Some(FomModuleSource::Url(url)) => format!("the module {url} is not there"),
        Some(FomModuleSource::Compressed(_)) => "an archive could not be unpacked".to_owned(),
        _ => "a module is empty".to_owned(),
    };
    let opened = modules.iter().map(|module| match &module.source {
        Some(FomModuleSource::File(file)) => Ok((&*file.name, &*file.content)),
        _ => Err(CallError::new(unopened, text(module))),
    });
    opened.collect()
}

/// Reads modules. `unread` is for those that are no XML, `invalid` for those that break other rules.
fn read(texts: Vec<(&str, &[u8])>, unread: Exception, invalid: Exception) -> Answer<Vec<(String, Module)>> {
    let read = texts.into_iter().map(|(name, text)| {
        let text = std::str::from_utf8(text)
            .map_err(|error| CallError::new(unread, format!("{name} is not UTF-8: {error}")))?;
        let module = Module::read(text).map_err(|error| {
            let exception = if matches!(error, FomError::Xml { .. }) { unread } else { invalid };
            CallError::new(exception, format!("{name}: {error}"))
        })?;
        Ok((name.to_owned(), module))
    });
    read.collect()
}

pub(super) fn read_modules(modules: Option<FomModuleSet>) -> Answer<Vec<(String, Module)>> {
    let modules = modules.unwrap_or_default().fom_module;
    let texts = texts(&modules, Exception::CouldNotOpenFOM)?;
    read(texts, Exception::ErrorReadingFOM, Exception::InvalidFOM)
}

/// The standard's module, or the one that replaces it.
pub(super) fn read_mim(module: Option<&FomModule>) -> Answer<Module> {
    let Some(module) = module else {
        return Ok(Module::read(STANDARD_MIM).expect("ours can be read"));
    };
    let name = match &module.source {
        Some(FomModuleSource::File(file)) => &file.name,
        Some(FomModuleSource::Url(url)) => url,
        _ => "",
    };
    // The standard has an exception for this: a federation without a module has that one anyway.
    if name == STANDARD_MIM_NAME {
        let details = format!("{STANDARD_MIM_NAME} is what a federation has if it names none");
        return Err(CallError::new(Exception::DesignatorIsHLAstandardMIM, details));
    }
    let texts = texts(std::slice::from_ref(module), Exception::CouldNotOpenMIM)?;
    let modules = read(texts, Exception::ErrorReadingMIM, Exception::InvalidMIM)?;
    Ok(modules.into_iter().next().expect("one goes in").1)
}

/// The names and texts of modules that are files.
pub(super) fn documents<'a>(modules: impl IntoIterator<Item = &'a FomModule>) -> Vec<Document> {
    let document = |module: &FomModule| match &module.source {
        Some(FomModuleSource::File(file)) => Some((file.name.clone(), file.content.clone())),
        _ => None,
    };
    modules.into_iter().filter_map(document).collect()
}

/// Refuses modules with which a federation would keep more bytes than it may.
pub(super) fn check_bytes(kept: &Documents, more: &[Document], limits: RtiLimits) -> Answer<()> {
    let new = more.iter().filter(|document| !kept.has(document)).map(|(_, text)| text.len());
    let (limit, bytes) = (limits.module_bytes, new.fold(kept.bytes(), usize::saturating_add));
    if bytes <= limit {
        return Ok(());
    }
    let details = format!("module-bytes={limit} is reached: a federation keeps so many, not {bytes}");
    Err(CallError::new(Exception::RTIinternalError, details))
}

/// `fom` with these modules in addition.
pub(super) fn merged(fom: &Fom, modules: &[(String, Module)]) -> Answer<Fom> {
    // A copy: modules that do not fit must change nothing.
    let mut merged = fom.clone();
    merged.merge_all(modules.iter().map(|(_, module)| module)).map_err(|(place, error)| {
        let exception =
            if error.is_inconsistent() { Exception::InconsistentFOM } else { Exception::InvalidFOM };
        CallError::new(exception, format!("{}: {error}", modules[place].0))
    })?;
    Ok(merged)
}
