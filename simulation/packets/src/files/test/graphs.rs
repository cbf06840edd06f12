//! GraphML, lists of edges and links.

use super::*;

/// A graph in the manner of the Topology Zoo, made up: two nodes of one name, one without coordinates, a
/// parallel link, a loop.
const ZOO: &str = r#"<?xml version="1.0" encoding="utf-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key attr.name="LinkSpeedRaw" attr.type="double" for="edge" id="d1" />
  <key attr.name="label" attr.type="string" for="node" id="d2" />
  <key attr.name="Longitude" attr.type="double" for="node" id="d3" />
  <key attr.name="Latitude" attr.type="double" for="node" id="d4" />
  <key attr.name="Network" attr.type="string" for="graph" id="d5" />
  <key attr.name="label" attr.type="string" for="graph" id="d6" />
  <key attr.name="length" attr.type="double" for="edge" id="d7" />
  <graph edgedefault="undirected">
    <data key="d5">Example</data>
    <data key="d6">Examp&amp;le</data>
    <node id="0"><data key="d2">Zürich</data><data key="d4">47.36667</data><data key="d3">8.55</data></node>
    <node id="1"><data key="d2">Genève</data><data key="d4">46.20222</data><data key="d3">6.14569</data></node>
    <node id="2"><data key="d2">Zürich</data><data key="d4">47.36667</data><data key="d3">8.55</data></node>
    <node id="3"><data key="d2">&#26481;&#20140;</data></node>
    <node id="4" />
    <edge source="0" target="1"><data key="d1">10000000000.0</data></edge>
    <edge source="1" target="0"><data key="d1">2.5e9</data></edge>
    <edge source="0" target="2" />
    <edge source="2" target="3" />
    <edge source="3" target="4"><data key="d7">1000</data></edge>
    <edge source="4" target="4" />
  </graph>
</graphml>
"#;

#[test]
fn a_graph_of_the_zoo_is_read_and_nothing_is_assumed_silently() {
    let graph = graphml("zoo.graphml", ZOO, &DEFAULTS).unwrap();
    assert_eq!(graph.name.as_deref(), Some("Examp&le"));
    let names: Vec<&str> = graph.nodes.iter().map(|node| node.name.as_str()).collect();
    assert_eq!(names, ["Zürich (0)", "Genève", "Zürich (2)", "東京", "4"]);
    let links: Vec<_> = graph.links.iter().map(|link| (link.from, link.to, link.rate, link.line)).collect();
    let rate = DEFAULTS.rate;
    assert_eq!(links, [(0, 1, 12_500_000_000, 18), (0, 2, rate, 20), (2, 3, rate, 21), (3, 4, rate, 22)]);
    // Zürich and Genève: 224.2 km on the great circle, by another program.
    let latency_ms = graph.links[0].latency_ps as f64 / 1e9;
    assert!((latency_ms - 224.2 / 199.861_639).abs() < 0.001, "{latency_ms} ms");
    assert_eq!(graph.links[1].latency_ps, 1_000_000, "one place");
    assert_eq!(graph.links[2].latency_ps, DEFAULTS.latency_ps, "no place");
    assert_eq!(graph.links[3].latency_ps.div_ceil(1_000_000), 5004, "1000 km / 199,861.639 km/s");
    assert_eq!(
        graph.notices,
        [
            "2 nodes have a label that others have too: their names are the label and the id (lines 13, 15)",
            "3 links have no rate (LinkSpeedRaw) (lines 20, 21, 22): 10Gbps is taken",
            "3 links have no length (lines 18, 19, 20): the great circle between the ends is taken, at two \
             thirds of the speed of light",
            "1 link has no length, nor places at both ends (line 21): a latency of 3ms is taken",
            "1 link has no length to speak of (line 20): a latency of 1us is taken",
            "1 link has no other end (line 23): an edge from a node to itself is left out",
            "parallel links are one with the sum of their rates and the least latency (line 19)",
        ]
    );
}

#[test]
fn defaults_of_keys_and_drawings_of_editors_are_understood() {
    let text = r#"<graphml xmlns:y="http://www.yworks.com/xml/graphml">
<key id="w" for="edge" attr.name="LinkSpeedRaw"><default>1000000</default></key>
<key id="g" for="node" yfiles.type="nodegraphics"/>
<graph><node id="a"><data key="g"><y:ShapeNode><y:Label>x &amp; y</y:Label></y:ShapeNode></data></node>
<desc>nodes</desc><node id="b"/><edge source="a" target="b"/>
<edge source="b" target="c"><data key="w"><![CDATA[5]]></data></edge><node id="c"/></graph></graphml>"#;
    let graph = graphml("y.graphml", text, &DEFAULTS).unwrap();
    assert_eq!(graph.links.iter().map(|link| link.rate).collect::<Vec<_>>(), [1_000_000, 5]);
    assert_eq!(graph.nodes.iter().map(|node| node.name.as_str()).collect::<Vec<_>>(), ["a", "b", "c"]);
}

/// A billion laughs, an external entity, and mistakes of every kind.
#[test]
fn what_is_no_graphml_is_refused_at_its_line() {
    let bomb = "<?xml version=\"1.0\"?>\n<!DOCTYPE lolz [\n<!ENTITY lol \"lol\">\n\
                <!ENTITY lol1 \"&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;\">\n]>\n<graphml>&lol1;</graphml>";
    let deep = format!("<graphml><graph><node id=\"a\">{}", "<desc>".repeat(100));
    let wide: String = (0..100_000).map(|number| format!(" a{number}=\"\"")).collect();
    let wide = format!("<graphml{wide}/>");
    let zoo = |from: &str, to: &str| ZOO.replacen(from, to, 1);
    for (text, line, problem) in [
        (
            bomb.to_owned(),
            2,
            "a document type with declarations, which could make the file grow without bound",
        ),
        ("<graphml>\n&xxe;</graphml>".into(), 2, "an entity in \"&xxe;\" that XML does not define"),
        ("<graphml a=\"&xxe;\"/>".into(), 1, "an entity in \"&xxe;\" that XML does not define"),
        (wide, 1, "a tag <graphml> with more than 64 attributes"),
        (deep, 1, "elements too deep within each other"),
        ("<gexf/>".into(), 1, "<gexf> as the outermost element"),
        ("<graphml>\n<graph>".into(), 2, "the file ends within an element"),
        (String::new(), 1, "the file ends within an element"),
        ("<graphml>\n</graph>".into(), 2, "this is not XML"),
        ("<graphml/>\n<graphml/>".into(), 2, "an element after the outermost one"),
        ("<graphml><graph/>\n<graph/></graphml>".into(), 2, "<graph> in <graphml>"),
        (zoo("<edge source=\"2\" target=\"3\" />", "<hyperedge/>"), 21, "<hyperedge> in <graph>"),
        (zoo("target=\"3\"", "target=\"9\""), 21, "an edge to \"9\", which no node has as its id"),
        (zoo("source=\"2\" ", ""), 21, "<edge> without the attribute \"source\""),
        (zoo("id=\"4\"", "id=\"3\""), 17, "a second node \"3\" with the id \"3\""),
        (zoo("46.20222", "146.2"), 14, "a Latitude of \"146.2\""),
        (zoo("46.20222", "NaN"), 14, "a Latitude of \"NaN\""),
        (zoo("2.5e9", "fast"), 19, "a LinkSpeedRaw of \"fast\""),
        (zoo("2.5e9", "0"), 19, "a LinkSpeedRaw of \"0\""),
        (zoo(">1000<", ">-1<"), 22, "a length of \"-1\""),
        (
            zoo("<data key=\"d1\">2", "<data key=\"d9\">2"),
            19,
            "<data> with the key \"d9\", which is not declared",
        ),
        (zoo("id=\"4\"", "id=\"\""), 17, "a node without a name"),
        (zoo("id=\"4\"", "id=\"4\" id=\"5\""), 17, "a broken attribute in <node>"),
    ] {
        let error = graphml("f", &text, &DEFAULTS).unwrap_err();
        assert!(error.problem.starts_with(problem), "{error} for {problem}");
        assert_eq!(error.line, line, "{error}");
    }
}

#[test]
fn names_may_be_anything_that_is_one_name() {
    let label = "\u{202e}Δ\u{0301} 🦀 \"quoted\", #5";
    let text = ZOO.replacen("Genève", label, 1);
    assert_eq!(graphml("f", &text, &DEFAULTS).unwrap().nodes[1].name, label);
    // The label of one is the label and the id of another.
    let clash = ZOO.replacen("Genève", "Zürich (0)", 1);
    let error = graphml("f", &clash, &DEFAULTS).unwrap_err();
    assert_eq!((error.line, error.problem.as_str()), (14, "a second node \"Zürich (0)\" with the id \"1\""));
}

/// In the manner of Rocketfuel: names with a comma and a plus, both directions.
#[test]
fn edges_of_rocketfuel_are_links() {
    let text = "# latencies\nAdelaide,+Australia1 Perth,+Australia7 4\nPerth,+Australia7 Adelaide,+Australia1 4\n\
                Perth,+Australia7 Sydney,+Australia2 0.5\nSydney,+Australia2 Perth,+Australia7 0.25\n";
    let graph = edges("latencies.intra", text, EdgeNumber::LatencyMs, &DEFAULTS).unwrap();
    let found: Vec<_> = graph.links.iter().map(|link| (link.from, link.to, link.latency_ps)).collect();
    assert_eq!(found, [(0, 1, 4_000_000_000), (1, 2, 500_000_000)]);
    assert_eq!(graph.nodes[2].name, "Sydney,+Australia2");
    assert_eq!(
        graph.notices,
        [
            "4 links have no rate (lines 2, 3, 4, 5): 10Gbps is taken",
            "links have other values in the other direction: those of the first are taken (line 5)",
        ]
    );
    let graph = edges("weights.intra", "a b 2.5\nb c 1\nc a\n", EdgeNumber::Weight, &DEFAULTS).unwrap();
    let weights: Vec<_> = graph.links.iter().map(|link| link.weight).collect();
    assert_eq!(weights, [Some(2500), Some(1000), None]);
    assert_eq!(graph.notices[1], "3 links have no latency (lines 1, 2, 3): 3ms is taken");
    for (text, message) in [
        (
            "a b 1\na b 1\n",
            "f:2: the link from \"a\" to \"b\" is given twice, first at line 1; allowed: one link between two nodes",
        ),
        (
            "a b\nb a\nb a\n",
            "f:3: the link from \"b\" to \"a\" is given twice, first at line 1; allowed: one link between two nodes",
        ),
        ("a a 1\n", "f:1: a link from \"a\" to itself; allowed: a link between two nodes"),
        ("a b 1 2\n", "f:1: 4 words in an edge; allowed: two names and a number, or two names"),
        (
            "a b x\n",
            "f:1: a latency of \"x\"; allowed: milliseconds: a time up to 11 days, such as 20ms, 1.5us or 0.02s without the unit",
        ),
    ] {
        let error = edges("f", text, EdgeNumber::LatencyMs, &DEFAULTS).unwrap_err();
        assert_eq!(error.to_string(), message);
    }
    assert!(edges("f", "a b 0", EdgeNumber::Weight, &DEFAULTS).is_err());
}

#[test]
fn links_of_a_table_have_what_it_says() {
    let text = "latency,to,from,rate,weight\n5ms,b,a,1Gbps,\n,c,b,,2\n";
    let graph = links("links.csv", text, &DEFAULTS).unwrap();
    let link =
        |from, to, rate, latency_ps, weight, line| GraphLink { from, to, rate, latency_ps, weight, line };
    assert_eq!(
        graph.links,
        [
            link(0, 1, 1_000_000_000, 5_000_000_000, None, 2),
            link(1, 2, DEFAULTS.rate, DEFAULTS.latency_ps, Some(2000), 3)
        ]
    );
    assert_eq!(
        graph.notices,
        ["1 link has no rate (line 3): 10Gbps is taken", "1 link has no latency (line 3): 3ms is taken"]
    );
    for (row, problem) in [
        ("a,b,0,1ms", "a rate of \"0\""),
        ("a,b,1Gbps,1", "a latency of \"1\""),
        ("a,a,1Gbps,1ms", "a link from \"a\" to itself"),
        (",b,1Gbps,1ms", "a node without a name"),
        ("y,x,1Gbps,1ms", "the link from \"y\" to \"x\" is given twice, first at line 2"),
    ] {
        let text = format!("from,to,rate,latency\nx,y,1Gbps,1ms\n{row}\n");
        let error = links("f", &text, &DEFAULTS).unwrap_err();
        assert_eq!((error.line, error.problem.as_str()), (3, problem));
    }
}
