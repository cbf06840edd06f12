//! A change of a parameter is made in a model, which declares what may change.

use crate::{Change, ChangeError, Model, ask};

impl Change {
    /// Makes it in `model`, which is asked whether it declares the parameter. Errors: it does not, or the
    /// value is not allowed.
    pub fn make<M: Model>(&self, model: &mut M) -> Result<(), ChangeError> {
        let declared = ask(|| "`changeable`".into(), || model.changeable(self.at));
        let Some(parameter) = declared.iter().find(|parameter| parameter.name == self.set) else {
            return Err(ChangeError::unknown(&self.set, &declared));
        };
        if !parameter.admits(self.to) {
            let (name, value) = (self.set.clone(), self.to.to_string());
            return Err(ChangeError::Value { name, value, allowed: parameter.allowed() });
        }
        ask(|| format!("`change` of {}", self.set), || model.change(&self.set, self.at, self.to));
        Ok(())
    }
}
