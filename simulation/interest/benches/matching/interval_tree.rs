//! Interval tree matching, reimplemented: an AVL tree of intervals sorted by low end, with the least low end and the greatest high
//! end below each node.
//!
//! After Marzolla, D'Angelo and Mandrioli, 2013, and for moving regions Marzolla and D'Angelo, 2020. Nodes are in one array; a tree
//! of many regions is built at once from sorted ones; further dimensions are compared when an interval is found.

use paceline_interest::Region;

/// Stands for "no node".
const NONE: u32 = u32::MAX;

struct Node<const D: usize> {
    region: Region<f64, D>,
    number: u32,
    children: [u32; 2],
    height: i32,
    least: f64,
    greatest: f64,
}

/// The tree.
pub struct IntervalTree<const D: usize> {
    nodes: Vec<Node<D>>,
    free: Vec<u32>,
    root: u32,
}

impl<const D: usize> IntervalTree<D> {
    pub fn build(regions: &[Region<f64, D>]) -> Self {
        let mut sorted: Vec<(f64, u32)> =
            regions.iter().zip(0..).map(|(region, number)| (region.low[0], number)).collect();
        sorted.sort_unstable_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
        let mut tree = Self { nodes: Vec::with_capacity(regions.len()), free: Vec::new(), root: NONE };
        tree.root = tree.build_part(regions, &sorted);
        tree
    }

    fn build_part(&mut self, regions: &[Region<f64, D>], sorted: &[(f64, u32)]) -> u32 {
        if sorted.is_empty() {
            return NONE;
        }
        let (lower, upper) = sorted.split_at(sorted.len() / 2);
        let number = upper[0].1;
        let node = self.add(regions[number as usize], number);
        let lower = self.build_part(regions, lower);
        let upper = self.build_part(regions, &upper[1..]);
        self.nodes[node as usize].children = [lower, upper];
        self.refresh(node);
        node
    }

    fn add(&mut self, region: Region<f64, D>, number: u32) -> u32 {
        let (least, greatest) = (region.low[0], region.high[0]);
        let node = Node { region, number, children: [NONE; 2], height: 1, least, greatest };
        if let Some(place) = self.free.pop() {
            self.nodes[place as usize] = node;
            return place;
        }
        self.nodes.push(node);
        self.nodes.len() as u32 - 1
    }

    fn height(&self, node: u32) -> i32 {
        if node == NONE { 0 } else { self.nodes[node as usize].height }
    }

    fn refresh(&mut self, node: u32) {
        let Node { region, children, .. } = &self.nodes[node as usize];
        let (mut least, mut greatest, mut height) = (region.low[0], region.high[0], 0);
        for child in children.iter().filter(|child| **child != NONE) {
            let child = &self.nodes[*child as usize];
            (least, greatest, height) =
                (least.min(child.least), greatest.max(child.greatest), height.max(child.height));
        }
        let node = &mut self.nodes[node as usize];
        (node.least, node.greatest, node.height) = (least, greatest, height + 1);
    }

    /// Rotates the child on `side` up to the place of its parent. Returns the new top.
    fn rotate(&mut self, node: u32, side: usize) -> u32 {
        let child = self.nodes[node as usize].children[side];
        self.nodes[node as usize].children[side] = self.nodes[child as usize].children[1 - side];
        self.nodes[child as usize].children[1 - side] = node;
        self.refresh(node);
        self.refresh(child);
        child
    }

    fn balance(&mut self, node: u32) -> u32 {
        self.refresh(node);
        let children = self.nodes[node as usize].children;
        let lean = self.height(children[1]) - self.height(children[0]);
        if lean.abs() < 2 {
            return node;
        }
        let side = usize::from(lean > 0);
        let inner = self.nodes[children[side] as usize].children;
        if self.height(inner[1 - side]) > self.height(inner[side]) {
            self.nodes[node as usize].children[side] = self.rotate(children[side], 1 - side);
        }
        self.rotate(node, side)
    }

    /// The side of a node on which this interval belongs; `None` if the node is this interval.
    fn side(&self, node: u32, low: f64, number: u32) -> Option<usize> {
        let node = &self.nodes[node as usize];
        match low.total_cmp(&node.region.low[0]).then(number.cmp(&node.number)) {
            std::cmp::Ordering::Less => Some(0),
            std::cmp::Ordering::Equal => None,
            std::cmp::Ordering::Greater => Some(1),
        }
    }

    pub fn insert(&mut self, region: &Region<f64, D>, number: u32) {
        let added = self.add(*region, number);
        self.root = self.insert_below(self.root, added);
    }

    fn insert_below(&mut self, node: u32, added: u32) -> u32 {
        if node == NONE {
            return added;
        }
        let Node { region, number, .. } = &self.nodes[added as usize];
        let side = self.side(node, region.low[0], *number).expect("an interval is inserted once");
        let child = self.nodes[node as usize].children[side];
        self.nodes[node as usize].children[side] = self.insert_below(child, added);
        self.balance(node)
    }

    pub fn remove(&mut self, region: &Region<f64, D>, number: u32) {
        self.root = self.remove_below(self.root, region.low[0], number);
    }

    fn remove_below(&mut self, node: u32, low: f64, number: u32) -> u32 {
        let children = self.nodes[node as usize].children;
        if let Some(side) = self.side(node, low, number) {
            self.nodes[node as usize].children[side] = self.remove_below(children[side], low, number);
            return self.balance(node);
        }
        if children.contains(&NONE) {
            self.free.push(node);
            return if children[0] == NONE { children[1] } else { children[0] };
        }
        // The last node of the left subtree takes this place.
        let mut last = children[0];
        while self.nodes[last as usize].children[1] != NONE {
            last = self.nodes[last as usize].children[1];
        }
        let (region, number) = (self.nodes[last as usize].region, self.nodes[last as usize].number);
        self.nodes[node as usize].children[0] = self.remove_below(children[0], region.low[0], number);
        (self.nodes[node as usize].region, self.nodes[node as usize].number) = (region, number);
        self.balance(node)
    }

    pub fn overlapping(&self, query: &Region<f64, D>, mut each: impl FnMut(u32)) {
        self.visit(self.root, query, &mut each);
    }

    #[allow(clippy::needless_bitwise_bool)] // One branch that cannot be predicted, not two.
    fn visit(&self, node: u32, query: &Region<f64, D>, each: &mut impl FnMut(u32)) {
        if node == NONE {
            return;
        }
        let Node { region, number, children, least, greatest, .. } = &self.nodes[node as usize];
        if *greatest <= query.low[0] || *least >= query.high[0] {
            return;
        }
        self.visit(children[0], query, each);
        if (0..D).all(|axis| (region.low[axis] < query.high[axis]) & (query.low[axis] < region.high[axis])) {
            each(*number);
        }
        if region.low[0] < query.high[0] {
            self.visit(children[1], query, each);
        }
    }
}
