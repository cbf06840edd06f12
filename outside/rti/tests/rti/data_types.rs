//! Data types of object models: what each has to have, and how modules agree on them.

use paceline_rti::fom::{Fom, Module, STANDARD_MIM};

/// The standard's module.
fn standard() -> Fom {
    let mut fom = Fom::default();
    fom.merge(&Module::read(STANDARD_MIM).expect("it is a module")).expect("the first one fits");
    fom
}

fn module(edition: &str, tables: &str) -> Module {
    let text = format!(
        r#"<objectModel xmlns="http://standards.ieee.org/IEEE1516-{edition}">{tables}</objectModel>"#
    );
    Module::read(&text).unwrap_or_else(|error| panic!("{tables}: {error}"))
}

fn objects(classes: &str) -> String {
    format!("<objects><objectClass><name>HLAobjectRoot</name>{classes}</objectClass></objects>")
}

/// Tables with data types, and a class with an attribute of one of them.
fn typed(types: &str, attribute: &str) -> String {
    let class = format!(
        "<objectClass><name>A</name><attribute><name>x</name><dataType>{attribute}</dataType></attribute>\
         </objectClass>"
    );
    format!("{}<dataTypes>{types}</dataTypes>", objects(&class))
}

fn simple(name: &str, representation: &str) -> String {
    format!("<simpleData><name>{name}</name><representation>{representation}</representation></simpleData>")
}

fn record(name: &str, fields: &[&str]) -> String {
    let field = |kind: &&str| format!("<field><name>f</name><dataType>{kind}</dataType></field>");
    let fields: String = fields.iter().map(field).collect();
    format!("<fixedRecordData><name>{name}</name>{fields}</fixedRecordData>")
}

fn array(name: &str, element: &str, cardinality: &str) -> String {
    format!(
        "<arrayData><name>{name}</name><dataType>{element}</dataType><cardinality>{cardinality}</cardinality>\
         </arrayData>"
    )
}

fn enumerated(name: &str, enumerators: &str) -> String {
    format!(
        "<enumeratedData><name>{name}</name><representation>HLAoctet</representation>{enumerators}\
         </enumeratedData>"
    )
}

const RED: &str = "<enumerator><name>Red</name><value>1</value></enumerator>";

fn variant(name: &str, discriminant: &str, enumerator: &str, kind: &str) -> String {
    format!(
        "<variantRecordData><name>{name}</name><discriminant>d</discriminant>\
         <dataType>{discriminant}</dataType><alternative><enumerator>{enumerator}</enumerator>\
         <name>a</name><dataType>{kind}</dataType></alternative></variantRecordData>"
    )
}

fn table(kind: &str, rows: &[String]) -> String {
    format!("<{kind}>{}</{kind}>", rows.concat())
}

/// What is wrong with a module with these data types and an attribute; nothing if it is merged.
fn refusal(types: &str, attribute: &str) -> Option<String> {
    let text = format!(
        "<objectModel xmlns=\"http://standards.ieee.org/IEEE1516-2025\">\n{}</objectModel>",
        typed(types, attribute)
    );
    let merged = Module::read(&text).and_then(|module| standard().merge(&module));
    merged.err().map(|error| error.to_string())
}

#[test]
fn data_types_rest_on_what_is_there() {
    let simple = |name: &str, on: &str| table("simpleDataTypes", &[simple(name, on)]);
    let records = |rows: &[String]| table("fixedRecordDataTypes", rows);
    let arrays = |rows: &[String]| table("arrayDataTypes", rows);
    let colour = table("enumeratedDataTypes", &[enumerated("Colour", RED)]);
    let variants = |row: String| colour.clone() + &table("variantRecordDataTypes", &[row]);
    let references =
        "<referenceDataTypes><referenceData><name>Ship</name></referenceData></referenceDataTypes>";
    for (types, attribute) in [
        (String::new(), "HLAunicodeString"),
        (String::new(), "NA"),
        (simple("Length", "HLAfloat32BE"), "Length"),
        (colour.clone(), "Colour"),
        (arrays(&[array("Way", "HLAbyte", "3, [0..4]")]), "Way"),
        (variants(variant("Choice", "Colour", "HLAother", "NA")), "Choice"),
        (variants(variant("Choice", "Colour", "[Red..Red]", "HLAbyte")), "Choice"),
        (references.to_owned(), "Ship"),
        // A tree ends where an array is empty.
        (records(&[record("Tree", &["Trees"])]) + &arrays(&[array("Trees", "Tree", "Dynamic")]), "Tree"),
        (records(&[record("B", &["C"]), record("C", &["HLAbyte"])]), "B"),
    ] {
        assert_eq!(refusal(&types, attribute), None, "{types}");
    }
    let undefined = "names the data type Nothing, which no module defines";
    let cases = [
        (String::new(), "Nothing", format!("HLAobjectRoot.A.x {undefined}")),
        (simple("S", "Nothing"), "S", format!("its representation of the simple type S {undefined}")),
        (
            simple("S", "HLAbyte"),
            "S",
            "its representation of the simple type S is HLAbyte, which is no basic type".to_owned(),
        ),
        (arrays(&[array("W", "Nothing", "1")]), "W", format!("its elements of the array type W {undefined}")),
        (records(&[record("R", &["Nothing"])]), "R", format!("a field of the fixed record type R {undefined}")),
        (
            arrays(&[array("W", "HLAbyte", "-1")]),
            "W",
            "the array type W has the cardinality `-1`, where `Dynamic`, a number or a range such as [0..4] is \
             wanted"
                .to_owned(),
        ),
        (
            table("enumeratedDataTypes", &[enumerated("E", "")]),
            "E",
            "the enumerated type E has no <enumerator>".to_owned(),
        ),
        (
            table("enumeratedDataTypes", &[enumerated("E", &RED.replace('1', "red"))]),
            "E",
            "the enumerated type E has `red` as a value of Red, where a whole number is wanted".to_owned(),
        ),
        (
            variants(variant("V", "Colour", "Blue", "HLAbyte")),
            "V",
            "an alternative of the variant record type V is chosen by Blue, which is no enumerator of Colour"
                .to_owned(),
        ),
        (
            variants(variant("V", "HLAbyte", "Red", "HLAbyte")),
            "V",
            "its discriminant of the variant record type V is HLAbyte, which is no enumerated type".to_owned(),
        ),
        (
            records(&[record("B", &["HLAbyte", "C"]), record("C", &["B"])]),
            "B",
            "the data type B has no finite value, as it always holds C".to_owned(),
        ),
        (
            records(&[record("B", &["Ws"])]) + &arrays(&[array("Ws", "B", "2")]),
            "B",
            "the data type B has no finite value, as it always holds Ws".to_owned(),
        ),
        (
            table("basicDataRepresentations", &["<basicData><name>B</name><size>0</size></basicData>".to_owned()]),
            "B",
            "the basic type B has the size `0`, where a number of bits is wanted".to_owned(),
        ),
    ];
    for (types, attribute, wanted) in cases {
        let found = refusal(&types, attribute).unwrap_or_else(|| panic!("{types} is merged"));
        assert_eq!(found, format!("line 2: {wanted}"));
    }
}

#[test]
fn data_types_are_named_with_their_line() {
    let text = "<objectModel>\n<!-- two\nlines --><dataTypes>\n<simpleDataTypes>\n\n<simpleData>\
                <name>S</name></simpleData></simpleDataTypes></dataTypes></objectModel>";
    let error = Module::read(text).expect_err("it has no representation");
    assert_eq!(error.to_string(), "line 6: the simple type S has no <representation>");
}

#[test]
fn a_data_type_is_defined_in_one_way() {
    let types = |row: String| format!("<dataTypes>{}</dataTypes>", table("arrayDataTypes", &[row]));
    let mut fom = standard();
    fom.merge(&module("2025", &types(array("Way", "HLAbyte", "3")))).expect("it is new");
    fom.merge(&module("2010", &types(array("Way", "HLAbyte", "3")))).expect("it is the same");
    for edition in ["2010", "2025"] {
        let error =
            fom.merge(&module(edition, &types(array("Way", "HLAbyte", "4")))).expect_err("it differs");
        assert!(error.is_inconsistent());
        let wanted = "line 1: the data type Way has the cardinality `4`, and `3` in an earlier definition";
        assert_eq!(error.to_string(), wanted);
    }
    // Modules of 2010 bring the standard's types as they were then.
    let older = types(array("HLAtoken", "HLAbyte", "1"));
    fom.merge(&module("2010", &older)).expect("they are not compared");
    assert!(fom.merge(&module("2025", &older)).is_err());
}

#[test]
fn what_was_merged_is_written_as_one_module() {
    let mut fom = standard();
    let types = table("enumeratedDataTypes", &[enumerated("Colour", RED)])
        + &table("variantRecordDataTypes", &[variant("Choice", "Colour", "Red", "HLAbyte")])
        + &table("arrayDataTypes", &[array("Way", "HLAbyte", "3, [0..4]")]);
    let tables = typed(&types, "Way")
        + "<dimensions><dimension><name>D &amp; E</name><upperBound>4</upperBound></dimension></dimensions>\
           <updateRates><updateRate><name>Low</name><rate>0.5</rate></updateRate></updateRates>\
           <switches><autoProvide isEnabled=\"true\"/></switches>";
    fom.merge(&module("2025", &tables)).expect("it is right");
    let text = fom.write();
    let mut again = Fom::default();
    again.merge(&Module::read(&text).expect("it is a module")).expect("it is whole");
    let class = again.objects.find("A").expect("it is there");
    assert!(again.objects.member_of(class, "x").is_some());
    let row = again.dimension("D & E").and_then(|dimension| again.dimension_row(dimension));
    assert_eq!(row, Some(("D & E", 4)));
    assert_eq!((again.update_rate("Low"), again.switch("autoProvide")), (Some("0.5"), Some("true")));
    assert_eq!(again.write(), text, "what was written and read is written alike");
}
