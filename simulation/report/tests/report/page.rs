//! Figures and pages of any content: well-formed, escaped, and standing alone.

use paceline_report::{
    Appendix, Axis, Chapter, Check, Criterion, Curve, Figure, FigureError, Finding, Fit, FitRow, Half, Kind,
    Ours, Quantity, RanOn, Scale, Series, Shape, Statement, Sweep, Table, VALUE_MAX, Wanted, document, page,
    svg,
};
use proptest::collection::vec;
use proptest::prelude::*;
use roxmltree::Document;
use scraper::{Html, Selector};

const CATEGORIES: usize = 5;

/// Whatever a text may do to a page, control characters among it.
fn hostile() -> impl Strategy<Value = String> {
    prop_oneof![
        "(?s).{0,20}",
        Just("<script>alert(1)</script>".to_owned()),
        Just("\"'><img src=http://example.org/x>&amp;".to_owned()),
        Just("]]></style></title><b>\0\u{b}\u{ffff}".to_owned()),
    ]
}

fn axis() -> impl Strategy<Value = Axis> {
    let scale = prop_oneof![
        Just(Scale::Linear),
        Just(Scale::Log),
        vec(hostile(), CATEGORIES).prop_map(Scale::Categories)
    ];
    (hostile(), hostile(), scale).prop_map(|(label, unit, scale)| Axis { label, unit, scale })
}

/// Coordinates of all magnitudes, zero among them; on axes with categories, one of those.
fn coordinate(scale: &Scale) -> BoxedStrategy<f64> {
    match scale {
        Scale::Categories(names) => (0..names.len()).prop_map(|place| place as f64).boxed(),
        Scale::Linear | Scale::Log => prop_oneof![
            Just(0.0),
            -1.0..1.0,
            0.0..1e6,
            (-VALUE_MAX..VALUE_MAX),
            (-320..300_i32).prop_map(|decade| 10_f64.powi(decade)),
        ]
        .boxed(),
    }
}

fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![
        Just(Kind::Lines),
        Just(Kind::Bars),
        Just(Kind::Points),
        Just(Kind::Steps),
        Just(Kind::Intervals)
    ]
}

fn figure() -> impl Strategy<Value = Figure> {
    (axis(), axis()).prop_flat_map(|(x, y)| {
        let point = (coordinate(&x.scale), coordinate(&y.scale));
        let series = (hostile(), kind(), any::<bool>(), vec(point, 0..30))
            .prop_map(|(name, kind, published, points)| Series { name, kind, published, points });
        (hostile(), hostile(), vec(series, 0..14)).prop_map(move |(title, caption, series)| Figure {
            title,
            caption,
            x: x.clone(),
            y: y.clone(),
            series,
        })
    })
}

fn sweep() -> impl Strategy<Value = Sweep> {
    (axis(), axis(), hostile()).prop_flat_map(|(quantity, measured, text)| {
        let wanted = prop_oneof![
            coordinate(&measured.scale).prop_map(Wanted::AtLeast),
            (coordinate(&measured.scale), coordinate(&measured.scale))
                .prop_map(|(one, other)| Wanted::Within(one.min(other), one.max(other))),
        ];
        let point = (coordinate(&quantity.scale), coordinate(&measured.scale));
        let curve = (hostile(), vec(point, 0..9), wanted).prop_map(|(name, points, wanted)| Curve {
            name,
            points,
            wanted,
        });
        (vec(curve, 0..4), coordinate(&quantity.scale)).prop_map(move |(curves, ours)| Sweep {
            check: text.clone(),
            quantity: quantity.clone(),
            ours,
            measured: measured.clone(),
            curves,
            reason: text.clone(),
            spoilt: vec![(text.clone(), vec![1.0])],
        })
    })
}

fn finding() -> impl Strategy<Value = Finding> {
    let check = (hostile(), hostile(), any::<bool>()).prop_map(|(what, words, is_met)| Check {
        criterion: Criterion::stated(Statement::Sign, words.clone(), Shape::Above(0.0)),
        ours: Ours::one(if is_met { 1.0 } else { 0.0 }, what.clone()).with(words),
        what,
    });
    let texts = (hostile(), hostile(), vec(hostile(), 0..3));
    (texts, vec(check, 0..4), vec(sweep(), 0..2), vec(figure(), 0..2)).prop_map(
        |(texts, checks, sweeps, figures)| {
            let (name, title, notes) = texts;
            let mut table = Table::new(&title, [&name, &title]);
            table.row([&title, &name]);
            let (about, tables) = (notes.clone(), vec![table]);
            let quantity = Quantity { name: name.clone(), value: title.clone(), meaning: name.clone() };
            let row = FitRow {
                what: title.clone(),
                published: name.clone(),
                ours: title.clone(),
                error: f64::INFINITY,
                half: Half::Predicted,
            };
            let fit = Fit {
                vector: vec![quantity],
                rule: title.clone(),
                rows: vec![row],
                unserved: notes.clone(),
                vectors: notes.len() as u64,
            };
            Finding {
                name,
                title,
                ran_on: RanOn::EmulatedHypervisor,
                about,
                checks,
                fit: Some(fit),
                sweeps,
                figures,
                tables,
                notes,
                parameters: String::new(),
                wall_seconds: 0.5,
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn any_figure_is_well_formed_and_shows_every_series(figure in figure()) {
        let drawing = svg(&figure, "one").expect("all coordinates have a place");
        let document = Document::parse(&drawing).expect("well-formed XML");
        let series = document.descendants().filter(|node| {
            node.attribute("class").is_some_and(|class| class.starts_with("ours") || class.starts_with("published"))
        });
        let shown = |&(x, y): &(f64, f64)| {
            (figure.x.scale != Scale::Log || x > 0.0) && (figure.y.scale != Scale::Log || y > 0.0)
        };
        let drawn = figure.series.iter().filter(|series| series.points.iter().any(shown)).count();
        prop_assert_eq!(series.count(), drawn);
        let all: usize = figure.series.iter().map(|series| series.points.len()).sum();
        let seen: usize =
            figure.series.iter().map(|series| series.points.iter().filter(|point| shown(point)).count()).sum();
        prop_assert_eq!(figure.left_out(), all - seen);
        let names: Vec<_> = document.root_element().children().filter(roxmltree::Node::is_element).take(2).collect();
        prop_assert!(names[0].has_tag_name(("http://www.w3.org/2000/svg", "title")));
        prop_assert!(names[1].has_tag_name(("http://www.w3.org/2000/svg", "desc")));
    }

    #[test]
    fn marks_stay_within_the_figure(figure in figure()) {
        let drawing = svg(&figure, "one").expect("all coordinates have a place");
        let document = Document::parse(&drawing).expect("well-formed XML");
        let view: Vec<i32> = document.root_element().attribute("viewBox").expect("a view box")
            .split(' ').map(|number| number.parse().expect("a number")).collect();
        for line in document.descendants().filter(|node| node.has_tag_name(("http://www.w3.org/2000/svg", "polyline"))) {
            for point in line.attribute("points").expect("points").split_whitespace() {
                let (x, y) = point.split_once(',').expect("a pair");
                let (x, y): (i32, i32) = (x.parse().expect("a number"), y.parse().expect("a number"));
                prop_assert!((0..=view[2]).contains(&x) && (0..=view[3]).contains(&y), "{point}");
            }
        }
    }

    #[test]
    fn what_has_no_place_is_refused(
        mut figure in figure(),
        bad in prop_oneof![Just(f64::NAN), Just(f64::INFINITY), Just(f64::NEG_INFINITY), Just(f64::MAX)],
        upwards in any::<bool>(),
    ) {
        let point = if upwards { (1.0, bad) } else { (bad, 1.0) };
        figure.series.insert(0, Series::ours("bad", Kind::Lines, vec![(1.0, 1.0), point]));
        let refused = svg(&figure, "one");
        let named = matches!(&refused, Err(FigureError::NoPlace { series, point: 1, .. }) if series == "bad");
        prop_assert!(named, "{refused:?}");
    }

    #[test]
    fn any_page_is_clean_html_that_stands_alone(findings in vec(finding(), 0..3), title in hostile()) {
        let mut of_all = Table::new(&title, [&title]);
        of_all.row([title.clone()]);
        let appendix = |first| Appendix { about: vec![title.clone()], table: of_all.clone(), first };
        let appendices = [appendix(true), appendix(false)];
        let text = page(&title, std::slice::from_ref(&title), &findings, &appendices);
        let document = Html::parse_document(&text);
        prop_assert!(document.errors.is_empty(), "{:?}", document.errors);
        let all = |selector: &str| {
            let selector = Selector::parse(selector).expect("a selector");
            document.select(&selector).map(|found| found.value().clone()).collect::<Vec<_>>()
        };
        prop_assert!(all("script, img, iframe, object, embed, image, use, b").is_empty());
        for element in all("*") {
            for (name, value) in element.attrs() {
                let loads = ["src", "href", "xlink:href", "style", "srcset", "data", "action"].contains(&name);
                let local = value.starts_with('#') || value == "data:,";
                prop_assert!(!name.starts_with("on") && (!loads || local), "{name}={value}");
            }
        }
        let style = &text[text.find("<style>").expect("a style sheet")..text.find("</style>").expect("its end")];
        prop_assert!(!style.contains("url(") && !style.contains("@import"));
        prop_assert_eq!(all("section").len(), findings.len() + 2, "one for each, and the appendices");

        let mut ids: Vec<String> = all("[id]").iter().filter_map(|one| one.attr("id").map(str::to_owned)).collect();
        for link in all("a") {
            let target = link.attr("href").expect("a link").trim_start_matches('#').to_owned();
            prop_assert!(ids.contains(&target), "{target}");
        }
        let number = ids.len();
        ids.sort();
        ids.dedup();
        prop_assert_eq!(ids.len(), number, "ids are unique");
    }
}

#[test]
fn a_category_that_is_not_there_is_refused() {
    let figure = |value| Figure {
        x: Axis::categories("policy", ["credit", "psx"]),
        series: vec![Series::ours("run time", Kind::Bars, vec![(value, 1.0)])],
        ..Figure::default()
    };
    assert!(svg(&figure(1.0), "one").is_ok());
    for value in [-1.0, 0.5, 2.0] {
        let refused = svg(&figure(value), "one");
        assert!(matches!(refused, Err(FigureError::NoCategory { last: 1, .. })), "{refused:?}");
    }
}

#[test]
fn a_page_says_why_a_figure_is_missing() {
    let series = vec![Series::ours("psx", Kind::Lines, vec![(1.0, f64::NAN)])];
    let figures = vec![Figure { series, ..Figure::default() }];
    let text = page("All", &[], &[Finding { figures, ..Finding::default() }], &[]);
    assert!(text.contains("cannot be drawn: point 0 of series `psx`"));
}

#[test]
fn a_page_says_and_draws_what_would_have_to_be_true() {
    let sweep = Sweep {
        check: "gain".into(),
        quantity: Axis::linear("length", "m"),
        ours: 2.0,
        measured: Axis::linear("gain", "%"),
        curves: vec![Curve {
            name: "gain".into(),
            points: vec![(1.0, 3.0), (2.0, 5.0)],
            wanted: Wanted::AtMost(4.0),
        }],
        reason: "It is not stated.".into(),
        spoilt: Vec::new(),
    };
    let (sentence, figure) = (sweep.sentence(), sweep.figure());
    let text = page("All", &[], &[Finding { sweeps: vec![sweep], ..Finding::default() }], &[]);
    let document = Html::parse_document(&text);
    let shown: String = document.root_element().text().collect();
    assert!(shown.contains(&sentence) && shown.contains("It is not stated."), "{shown}");
    assert!(shown.contains(&figure.title) && text.contains("class=\"published"), "{text}");
}

#[test]
fn a_published_series_has_the_colour_of_the_series_it_is_compared_with() {
    let points = || vec![(1.0, 1.0), (2.0, 3.0)];
    let figure = Figure {
        series: vec![
            Series::ours("credit", Kind::Lines, points()),
            Series::published("psx", Kind::Points, points()),
            Series::ours("psx", Kind::Lines, points()),
        ],
        ..Figure::default()
    };
    let drawing = svg(&figure, "one").expect("it can be drawn");
    let document = Document::parse(&drawing).expect("well-formed XML");
    let classes: Vec<_> = document
        .descendants()
        .filter(|node| node.tag_name().name() == "g")
        .filter_map(|node| node.attribute("class"))
        .collect();
    assert_eq!(classes, ["ours series0", "ours series1", "published series1"]);
}

#[test]
fn numbers_are_aligned_to_the_right_unless_a_long_text_is_among_them() {
    let aligned = |last: &str| {
        let mut table = Table::new("Facts", ["name", "value"]);
        [("threads", "2"), ("events", "1,024"), ("bound", last)]
            .into_iter()
            .for_each(|(name, value)| table.row([name, value]));
        let chapter = Chapter { tables: vec![table], ..Chapter::default() };
        let html = Html::parse_document(&document("Run", &[], &[chapter]));
        html.select(&Selector::parse("td.number").expect("a selector")).count()
    };
    assert_eq!(aligned("1.5"), 3);
    assert_eq!(aligned("1.011 times one thread, with 2.09 of the work on one core"), 0);
}
