//! Sweeps as JSON, as parts of a finding.
//!
//! Invariant: a sweep is `{"check", "quantity", "unit", "ours", "measured", "measured_unit", "curves":
//! [{"name", "points": [[value, measured]], "wanted": {"at_least", "at_most"}}], "sentence"}` and nothing
//! else, but for `"categories"` after `"unit"` where values of the quantity are indices of names. `wanted`
//! has one of its two limits, or both.

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use super::{Curve, Sweep, Wanted};

impl Serialize for Sweep {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { check, quantity, ours, measured, curves, reason: _, spoilt: _ } = self;
        let categories = quantity.names();
        let mut object = serializer.serialize_struct("Sweep", 8 + usize::from(!categories.is_empty()))?;
        object.serialize_field("check", check)?;
        object.serialize_field("quantity", &quantity.label)?;
        object.serialize_field("unit", &quantity.unit)?;
        if !categories.is_empty() {
            object.serialize_field("categories", categories)?;
        }
        object.serialize_field("ours", ours)?;
        object.serialize_field("measured", &measured.label)?;
        object.serialize_field("measured_unit", &measured.unit)?;
        object.serialize_field("curves", curves)?;
        object.serialize_field("sentence", &self.sentence())?;
        object.end()
    }
}

impl Serialize for Curve {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("Curve", 3)?;
        object.serialize_field("name", &self.name)?;
        object.serialize_field("points", &self.points)?;
        object.serialize_field("wanted", &self.wanted)?;
        object.end()
    }
}

impl Serialize for Wanted {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (least, most) = match *self {
            Self::AtLeast(least) => (Some(least), None),
            Self::AtMost(most) => (None, Some(most)),
            Self::Within(least, most) => (Some(least), Some(most)),
        };
        let limits = || [("at_least", least), ("at_most", most)].into_iter();
        serializer.collect_map(limits().filter_map(|(name, limit)| Some((name, limit?))))
    }
}
