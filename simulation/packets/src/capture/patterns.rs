//! Which links the patterns of a capture name.

use super::Tap;
use crate::PacketError;
use crate::network::Network;

const ARROW: &str = "->";
const FORMS: &str = "\"A -> B\" for packets from A to B, \"A <-> B\" for those that A sends to B and receives \
                     from it, or \"A\" for the same with all its neighbours";

/// The taps that `pattern` names: one for each link from a node that fits its left side to one that fits its
/// right side, or for all links of the nodes that fit it.
pub(super) fn taps(network: &Network, pattern: &str) -> Result<Vec<Tap>, PacketError> {
    let Sides { from, to, is_both } = sides(network, pattern)?;
    let is_neighbour = |peer| to.as_ref().is_none_or(|to| to.binary_search(&peer).is_ok());
    let of_node = |&node: &u32| {
        let ports = (0..network.ports(node)).filter(move |port| is_neighbour(network.peer(node, *port)));
        ports.map(move |port| Tap { node, port, is_both })
    };
    let mut taps = Vec::new();
    for node in &from {
        taps.extend(of_node(node));
    }
    if taps.is_empty() {
        let example = from.iter().find(|node| network.ports(**node) > 0).map_or_else(String::new, |node| {
            format!(", such as \"{} -> {}\"", network.name(*node), network.name(network.peer(*node, 0)))
        });
        let allowed = format!("nodes that a link joins{example}");
        return Err(PacketError::Capture { pattern: pattern.to_owned(), problem: "names no link", allowed });
    }
    Ok(taps)
}

/// What a pattern says.
struct Sides {
    from: Vec<u32>,
    /// Without it, all neighbours.
    to: Option<Vec<u32>>,
    is_both: bool,
}

fn sides(network: &Network, pattern: &str) -> Result<Sides, PacketError> {
    // A name may have an arrow in it: the first arrow between two names that there are is the one.
    let mut refused = None;
    for (place, _) in pattern.match_indices(ARROW) {
        let (left, is_both) =
            pattern[..place].strip_suffix('<').map_or((&pattern[..place], false), |left| (left, true));
        let right = &pattern[place + ARROW.len()..];
        let found = network.select(left.trim()).and_then(|from| Ok((from, network.select(right.trim())?)));
        match found {
            Ok((from, to)) => return Ok(Sides { from, to: Some(to), is_both }),
            Err(error) => refused = refused.or(Some(error)),
        }
    }
    match (network.select(pattern.trim()), refused) {
        (Ok(from), _) => Ok(Sides { from, to: None, is_both: true }),
        (Err(_), Some(error)) => Err(error),
        (Err(_), None) => {
            let (pattern, allowed) = (pattern.to_owned(), FORMS.to_owned());
            Err(PacketError::Capture { pattern, problem: "names neither a node nor a link", allowed })
        }
    }
}
