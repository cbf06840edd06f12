//! The modules of object models that calls bring: those that are named are opened, archives are unpacked.

use paceline_hla::{Call, FileFomModule, FomModule, FomModuleSource};

use super::{Host, Outside};
use crate::archive::unpack;

/// The modules in a call.
fn modules(call: &mut Call) -> Vec<&mut FomModule> {
    let (one, set) = match call {
        Call::CreateFederationExecution(r) => (r.fom_module.as_mut(), None),
        Call::CreateFederationExecutionWithTime(r) => (r.fom_module.as_mut(), None),
        Call::CreateFederationExecutionWithModules(r) => (None, r.fom_modules.as_mut()),
        Call::CreateFederationExecutionWithModulesAndTime(r) => (None, r.fom_modules.as_mut()),
        Call::CreateFederationExecutionWithMIM(r) => (r.mim_module.as_mut(), r.fom_modules.as_mut()),
        Call::CreateFederationExecutionWithMIMAndTime(r) => (r.mim_module.as_mut(), r.fom_modules.as_mut()),
        Call::JoinFederationExecutionWithModules(r) => (None, r.additional_fom_modules.as_mut()),
        Call::JoinFederationExecutionWithNameAndModules(r) => (None, r.additional_fom_modules.as_mut()),
        _ => (None, None),
    };
    one.into_iter().chain(set.into_iter().flat_map(|set| &mut set.fom_module)).collect()
}

impl<O: Outside> Host<O> {
    /// Opens the modules that a call names, and unpacks those that are archives. What cannot be opened stays
    /// as it is, and is refused by the infrastructure.
    pub(super) fn open_modules(&mut self, call: &mut Call) {
        for module in modules(call) {
            let file = match &module.source {
                Some(FomModuleSource::Compressed(archive)) => match unpack(archive) {
                    Ok(content) => {
                        Some(FileFomModule { name: "an archive".to_owned(), content: content.into() })
                    }
                    Err(error) => {
                        self.outside.log(&format!("a module is not read: {error}"));
                        None
                    }
                },
                Some(FomModuleSource::Url(name)) => {
                    let content = self.outside.module(name);
                    content.map(|content| FileFomModule { name: name.clone(), content })
                }
                _ => None,
            };
            if let Some(file) = file {
                module.source = Some(FomModuleSource::File(file));
            }
        }
    }
}
