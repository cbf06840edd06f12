//! Object models: reading, merging by the rules of each edition, and handles.

use std::collections::BTreeMap;

use paceline_rti::fom::{Fom, FomError, Module, STANDARD_MIM};
use proptest::prelude::*;

/// A module of the edition with these tables.
fn module(edition: &str, tables: &str) -> Module {
    let text = format!(
        r#"<objectModel xmlns="http://standards.ieee.org/IEEE1516-{edition}">{tables}</objectModel>"#
    );
    Module::read(&text).unwrap_or_else(|error| panic!("{tables}: {error}"))
}

/// The table of object classes with these below the root.
fn objects(classes: &str) -> String {
    format!("<objects><objectClass><name>HLAobjectRoot</name>{classes}</objectClass></objects>")
}

/// A class with attributes of that order.
fn class(name: &str, attributes: &[&str], order: &str, below: &str) -> String {
    let attribute = |name: &&str| format!("<attribute><name>{name}</name><order>{order}</order></attribute>");
    let attributes: String = attributes.iter().map(attribute).collect();
    format!("<objectClass><name>{name}</name>{attributes}{below}</objectClass>")
}

fn standard() -> Fom {
    let mut fom = Fom::default();
    fom.merge(&Module::read(STANDARD_MIM).expect("it is a module")).expect("the first one fits");
    fom
}

/// All names with their handles.
fn handles(fom: &Fom) -> BTreeMap<String, u32> {
    let mut all = BTreeMap::new();
    for table in [&fom.objects, &fom.interactions] {
        for handle in (1..).take_while(|handle| table.class(*handle).is_some()) {
            let class = table.class(handle).expect("it is there");
            all.insert(class.name.clone(), handle);
            for member in &class.own {
                let name = &table.member(*member).expect("it is there").name;
                all.insert(format!("{}#{name}", class.name), *member);
            }
        }
    }
    all
}

#[test]
fn the_standard_module_has_what_others_rest_on() {
    let fom = standard();
    let manager = fom.objects.find("HLAmanager.HLAfederate").expect("it is there without the root");
    assert_eq!(fom.objects.find("HLAobjectRoot.HLAmanager.HLAfederate"), Some(manager));
    let privilege = fom.objects.member_of(manager, "HLAprivilegeToDeleteObject").expect("it is inherited");
    assert!(fom.objects.member(privilege).expect("it is there").is_timestamped());
    assert!(fom.interactions.find("HLAinteractionRoot").is_some());
    assert_eq!(
        (fom.transportation("HLAreliable"), fom.transportation_name(2)),
        (Some(1), Some("HLAbestEffort"))
    );
    let groups = fom.dimension("HLAserviceGroup").expect("it is there");
    assert_eq!(fom.dimension_row(groups), Some(("HLAserviceGroup", 7)));
    assert_eq!((fom.objects.class(0).is_none(), fom.dimension_row(0)), (true, None), "handles begin with 1");
}

#[test]
fn a_module_of_2010_repeats_all_attributes_or_none() {
    for (edition, more_is_allowed) in [("2010", false), ("2025", true)] {
        let mut fom = standard();
        fom.merge(&module(edition, &objects(&class("A", &["x", "y"], "Receive", "")))).expect("it is new");
        let before = handles(&fom);
        // As a place for another class, and repeated whole.
        let below = class("B", &["z"], "Receive", "");
        fom.merge(&module(edition, &objects(&class("A", &[], "", &below)))).expect("it says where B belongs");
        fom.merge(&module(edition, &objects(&class("A", &["y", "x"], "receive", ""))))
            .expect("it is the same");
        for attributes in [&["x", "y", "z"][..], &["x"], &["w"]] {
            let merged =
                fom.clone().merge(&module(edition, &objects(&class("A", attributes, "Receive", ""))));
            assert_eq!(merged.is_ok(), more_is_allowed, "{edition}: {attributes:?}: {merged:?}");
        }
        assert!(before.iter().all(|(name, handle)| handles(&fom).get(name) == Some(handle)));
    }
}

#[test]
fn modules_of_a_set_come_in_any_order() {
    let places = [class("B", &["y"], "Receive", ""), class("C", &["z"], "Receive", "")];
    let mut modules = places.map(|below| module("2010", &objects(&class("A", &[], "", &below)))).to_vec();
    modules.push(module("2010", &objects(&class("A", &["x"], "Receive", ""))));
    for order in [[0, 1, 2], [0, 2, 1], [1, 2, 0], [2, 1, 0]] {
        let mut fom = standard();
        fom.merge_all(order.map(|place| &modules[place]))
            .unwrap_or_else(|error| panic!("{order:?}: {error:?}"));
        for (name, attribute) in [("A.B", "y"), ("A.C", "z")] {
            let class = fom.objects.find(name).expect("it is there");
            let is_there = |name| fom.objects.member_of(class, name).is_some();
            assert!(is_there("x") && is_there(attribute), "{order:?}: {name}");
        }
    }
    // Modules that no order makes fit are refused, with the place of the one that was the first not to.
    modules.push(module("2010", &objects(&class("A", &["w"], "Receive", ""))));
    let mut fom = standard();
    let (place, error) = fom.merge_all(&modules).expect_err("A has either x or w");
    assert!(place == 2 && matches!(error, FomError::Members { .. }), "{place}: {error}");
    assert_eq!(fom.objects.find("A"), None, "modules that are refused change nothing");
    // One after the other, they are refused: what comes first is settled.
    let mut fom = standard();
    fom.merge(&modules[0]).expect("it is new");
    assert!(fom.merge(&modules[2]).is_err());
}

#[test]
fn what_is_repeated_does_not_differ() {
    let mut fom = standard();
    fom.merge(&module("2025", &objects(&class("A", &["x"], "Receive", "")))).expect("it is new");
    let differs = fom.merge(&module("2025", &objects(&class("A", &["x"], "TimeStamp", ""))));
    let text = differs.expect_err("the order differs").to_string();
    assert_eq!(text, "HLAobjectRoot.A.x has the order `TimeStamp`, and `Receive` in an earlier module",);
    let bound = |bound: u32| {
        let row = format!("<dimension><name>D</name><upperBound>{bound}</upperBound></dimension>");
        module("2010", &format!("<dimensions>{row}</dimensions>"))
    };
    fom.merge(&bound(5)).expect("it is new");
    fom.merge(&bound(5)).expect("it is the same");
    assert!(fom.merge(&bound(6)).expect_err("the bound differs").is_inconsistent());
}

#[test]
fn an_inherited_attribute_is_not_defined_again() {
    let mut fom = standard();
    let nested = class("A", &["x"], "", &class("B", &["x"], "", ""));
    let error = fom.merge(&module("2025", &objects(&nested))).expect_err("B has x already");
    assert!(matches!(error, FomError::Inherited { .. }), "{error}");
    assert_eq!(fom.objects.find("A"), None, "a module that is refused changes nothing");
}

#[test]
fn directed_interactions_name_classes_that_are_there() {
    let directed = "<directedInteraction><name>Hit</name></directedInteraction>";
    let ship = objects(&format!("<objectClass><name>Ship</name>{directed}</objectClass>"));
    let error = standard().merge(&module("2025", &ship)).expect_err("nothing is called Hit");
    assert_eq!(
        error.to_string(),
        "HLAobjectRoot.Ship names the interaction class HLAinteractionRoot.Hit, which no module defines"
    );
    let hit = "<interactionClass><name>HLAinteractionRoot</name><interactionClass><name>Hit</name></interactionClass>";
    let both = format!("{ship}<interactions>{hit}</interactionClass></interactions>");
    let mut fom = standard();
    fom.merge(&module("2025", &both)).expect("Hit is there");
    let (ship, hit) = (fom.objects.find("Ship"), fom.interactions.find("Hit"));
    let ship = fom.objects.class(ship.expect("it is there")).expect("it is there");
    assert!(ship.directed.contains(&hit.expect("it is there")));
}

#[test]
fn texts_that_are_no_modules_are_refused_with_a_reason() {
    let deep = "<a>".repeat(65);
    for (text, wanted) in [
        ("", "it is not well-formed XML: there is no element"),
        ("<objectModel>", "it is not well-formed XML: <objectModel> is not closed"),
        ("<fed/>", "it begins with <fed>, not with <objectModel>"),
        (&deep, "its elements are nested more than 64 deep"),
        (
            "<!DOCTYPE x [<!ENTITY a SYSTEM \"file:///etc/passwd\">]><objectModel>&a;</objectModel>",
            "it has a document type, which is not allowed",
        ),
        ("<objectModel>&a;</objectModel>", "it is not well-formed XML: the entity &a; is not known"),
        (
            "<objectModel xmlns=\"http://example.com/1999\"/>",
            "its namespace is `http://example.com/1999`; IEEE1516-2010 and IEEE1516-2025 are known",
        ),
        (
            "<objectModel><objects><objectClass><name>A</name></objectClass></objects></objectModel>",
            "the topmost class is A, not HLAobjectRoot",
        ),
        (
            "<objectModel><objects><objectClass/></objects></objectModel>",
            "a <objectClass> below the table of classes has no <name>",
        ),
        (
            "<objectModel><dimensions><dimension><name>D</name><upperBound>x</upperBound></dimension></dimensions>\
             </objectModel>",
            "dimension D has `x` where a whole number is wanted",
        ),
    ] {
        assert_eq!(Module::read(text).expect_err(text).to_string(), wanted);
    }
    let text = "\u{feff}<?xml version=\"1.0\"?><m:objectModel xmlns:m=\"http://standards.ieee.org/IEEE1516-2010\">\
                <m:objects><m:objectClass><m:name>HLA&#111;bject<![CDATA[Root]]></m:name></m:objectClass></m:objects>\
                </m:objectModel>";
    let mut fom = Fom::default();
    fom.merge(&Module::read(text).expect("prefixes, references and sections are XML too"))
        .expect("it is new");
    assert!(fom.objects.find("HLAobjectRoot").is_some());
}

/// A tree of classes with few names, so that modules often speak of the same ones.
fn any_classes() -> impl Strategy<Value = String> {
    let attributes = || prop::sample::subsequence(vec!["p", "q", "r"], 0..=3);
    let order = || prop::sample::select(vec!["Receive", "TimeStamp"]);
    let leaf = (prop::sample::select(vec!["A", "B", "C"]), attributes(), order())
        .prop_map(|(name, attributes, order)| class(name, &attributes, order, ""));
    leaf.prop_recursive(3, 8, 2, move |below| {
        let name = prop::sample::select(vec!["A", "B", "C"]);
        (name, attributes(), order(), below)
            .prop_map(|(name, attributes, order, below)| class(name, &attributes, order, &below))
    })
}

proptest! {
    #[test]
    fn handles_never_change_and_a_refused_module_changes_nothing(
        modules in prop::collection::vec((prop::sample::select(vec!["2010", "2025"]), any_classes()), 1..8),
    ) {
        let mut fom = standard();
        for (edition, classes) in modules {
            let (before, module) = (handles(&fom), module(edition, &objects(&classes)));
            let merged = fom.merge(&module);
            let after = handles(&fom);
            match merged {
                Ok(()) => {
                    prop_assert!(before.iter().all(|(name, handle)| after.get(name) == Some(handle)));
                    fom.merge(&module).expect("what is there may be said again");
                    prop_assert_eq!(after, handles(&fom));
                }
                Err(error) => {
                    prop_assert!(error.is_inconsistent(), "{}", error);
                    prop_assert_eq!(before, after);
                }
            }
        }
    }

    /// Whatever is sent, reading it ends, without a panic.
    #[test]
    fn any_text_is_read_or_refused(text in "(<|>|/|a|objectModel|objects|objectClass|name|&|;|!|\\[|\\]|\"|=| ){0,60}") {
        let _ = Module::read(&text);
    }
}
