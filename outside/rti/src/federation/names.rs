//! Names of object instances: a federate reserves one, or several at once, before it registers an instance
//! under it.
//!
//! Invariant: a name is reserved by one federate, or used by one instance, or free.

use paceline_hla::{Call, Callback, Response, callback, response};

use super::Federation;
use crate::exception::{Answer, CallError, Exception};

impl Federation {
    fn check_legal(name: &str) -> Answer<()> {
        if name.is_empty() || name.starts_with("HLA") {
            let details = format!("{name:?}: a name is not empty, and only the standard's begin with HLA");
            return Err(CallError::new(Exception::IllegalName, details));
        }
        Ok(())
    }

    fn is_free(&self, name: &str) -> bool {
        !self.reserved.contains_key(name) && !self.named.contains_key(name)
    }

    /// Whether so many names may be reserved in addition.
    fn check_room(&self, names: usize) -> Answer<()> {
        let limit = self.limits.reserved_names;
        if names <= limit.saturating_sub(self.reserved.len()) {
            return Ok(());
        }
        let details = format!("reserved-names={limit} is reached: so many may be reserved and not used");
        Err(CallError::new(Exception::RTIinternalError, details))
    }

    fn check_reserved(&self, federate: u32, name: &str) -> Answer<()> {
        if self.reserved.get(name) == Some(&federate) {
            return Ok(());
        }
        let details = format!("{name:?} is not reserved by this federate");
        Err(CallError::new(Exception::ObjectInstanceNameNotReserved, details))
    }

    /// Takes a reserved name for an instance.
    pub(super) fn take_name(&mut self, federate: u32, name: &str) -> Answer<()> {
        if self.named.contains_key(name) {
            let details = format!("an instance is called {name:?} already");
            return Err(CallError::new(Exception::ObjectInstanceNameInUse, details));
        }
        self.check_reserved(federate, name)?;
        self.reserved.remove(name);
        Ok(())
    }

    /// A name for an instance that nobody has chosen one for.
    pub(super) fn free_name(&self, class: u32, object: u32) -> String {
        let class = self.fom.objects.class(class).map(|class| class.name.as_str()).unwrap_or_default();
        let class = class.rsplit('.').next().unwrap_or_default();
        let mut names = (0..).map(|more: u32| match more {
            0 => format!("{class}-{object}"),
            more => format!("{class}-{object}-{more}"),
        });
        names.find(|name| self.is_free(name)).expect("there are more names than instances")
    }

    /// Answers a call about names; others go on to the next group of services.
    pub(super) fn name_objects(&mut self, federate: u32, call: Call) -> Answer<Response> {
        match call {
            Call::ReserveObjectInstanceName(r) => {
                let object_instance_name = r.object_instance_name;
                Self::check_legal(&object_instance_name).and_then(|()| self.check_room(1)).map(|()| {
                    // Whether it succeeds is a callback, as the standard has it: the call itself is answered
                    // either way.
                    let outcome: Callback = if self.is_free(&object_instance_name) {
                        self.reserved.insert(object_instance_name.clone(), federate);
                        callback::ObjectInstanceNameReservationSucceeded { object_instance_name }.into()
                    } else {
                        callback::ObjectInstanceNameReservationFailed { object_instance_name }.into()
                    };
                    self.tell(federate, outcome);
                    response::ReserveObjectInstanceName {}.into()
                })
            }
            Call::ReserveMultipleObjectInstanceNames(r) => {
                self.reserve_several(federate, r.object_instance_names)
            }
            Call::ReleaseObjectInstanceName(r) => {
                self.check_reserved(federate, &r.object_instance_name).map(|()| {
                    self.reserved.remove(&r.object_instance_name);
                    response::ReleaseObjectInstanceName {}.into()
                })
            }
            Call::ReleaseMultipleObjectInstanceNames(r) => {
                let names = r.object_instance_names;
                // All are looked at first: either all are released, or none.
                names.iter().try_for_each(|name| self.check_reserved(federate, name)).map(|()| {
                    self.reserved.retain(|name, _| !names.contains(name));
                    response::ReleaseMultipleObjectInstanceNames {}.into()
                })
            }
            call => self.declare_objects(federate, call),
        }
    }

    /// All of the names, or none of them.
    fn reserve_several(&mut self, federate: u32, object_instance_names: Vec<String>) -> Answer<Response> {
        if object_instance_names.is_empty() {
            return Err(CallError::new(Exception::NameSetWasEmpty, "at least one name is wanted"));
        }
        object_instance_names.iter().try_for_each(|name| Self::check_legal(name))?;
        self.check_room(object_instance_names.len())?;
        let outcome: Callback = if object_instance_names.iter().all(|name| self.is_free(name)) {
            for name in &object_instance_names {
                self.reserved.insert(name.clone(), federate);
            }
            callback::MultipleObjectInstanceNameReservationSucceeded { object_instance_names }.into()
        } else {
            callback::MultipleObjectInstanceNameReservationFailed { object_instance_names }.into()
        };
        self.tell(federate, outcome);
        Ok(response::ReserveMultipleObjectInstanceNames {}.into())
    }
}
