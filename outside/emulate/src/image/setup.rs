//! The text by which a guest learns who it is and what it does: a script that its first program runs after it
//! was started from where all guests were saved.

use std::net::Ipv4Addr;

use super::quoted;

/// The name of the text among those that the machine hands over.
pub const SETUP: &str = "opt/paceline/guest";

/// Where programs and scripts search: Debian's folders first, then busybox.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/paceline/bin";

/// A card as the guest sets it up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetupCard {
    /// Its Ethernet address.
    pub mac: [u8; 6],
    /// The most bytes of an IP packet.
    pub mtu: u16,
    /// Its IPv4 address.
    pub address: Ipv4Addr,
    /// How many bits of the address are the network's.
    pub prefix: u8,
    /// Where packets for other networks go.
    pub gateway: Option<Ipv4Addr>,
    /// Ethernet addresses that it need not ask for.
    pub neighbours: Vec<(Ipv4Addr, [u8; 6])>,
}

/// Something that a guest runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetupScript {
    /// What the guest calls it when it says how it ended.
    pub label: String,
    /// The time of the guest's machine at which it starts, in nanoseconds; without it, once the network is
    /// up.
    pub at_ns: Option<u64>,
    /// Lines for a shell.
    pub text: String,
}

/// Everything that differs between guests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Setup {
    /// The guest's name.
    pub name: String,
    /// What its kernel's random numbers are drawn from.
    pub seed: [u8; 32],
    /// What its calendar clocks showed when the machine's clock was 0, in nanoseconds since 1970; without it
    /// they keep what they have.
    pub epoch_ns: Option<i64>,
    /// Its cards, in the order of the machine's.
    pub cards: Vec<SetupCard>,
    /// Names that it knows, with their addresses.
    pub hosts: Vec<(String, Ipv4Addr)>,
    /// TCP's congestion control; without it the kernel's own choice.
    pub congestion_control: Option<String>,
    /// Whether its cards have addresses of IPv6, for which the kernel asks routers by itself.
    pub has_ipv6: bool,
    /// What it runs.
    pub scripts: Vec<SetupScript>,
    /// The time of the guest's machine at which all that still runs is ended, in nanoseconds.
    pub stop_ns: Option<u64>,
    /// Absolute paths of what it sends back at its end.
    pub out: Vec<String>,
}

impl Setup {
    /// The script.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = format!("hostname {}\n", quoted(&self.name));
        let mut hosts = "127.0.0.1 localhost\n".to_owned();
        for (name, address) in &self.hosts {
            hosts += &format!("{address} {name}\n");
        }
        text += &write("/etc/hosts", &hosts);
        text += &write("/etc/hostname", &format!("{}\n", self.name));
        text += &format!("probe seed {}\n", self.seed.map(|byte| format!("{byte:02x}")).join(""));
        if let Some(epoch_ns) = self.epoch_ns {
            text += &format!("probe date {epoch_ns}\n");
        }
        if !self.has_ipv6 {
            text += "for i in all default; do echo 1 >/proc/sys/net/ipv6/conf/$i/disable_ipv6; done\n";
        }
        if let Some(control) = &self.congestion_control {
            text += &format!("load_modules tcp_{control}\n");
            text += &format!("echo {control} >/proc/sys/net/ipv4/tcp_congestion_control\n");
        }
        for (number, card) in self.cards.iter().enumerate() {
            text += &card.text(number);
        }
        let files = quoted(&format!("/paceline/guests/{}", self.name));
        text += &format!("[ ! -d {files} ] || cp -a {files}/. /\n");
        text +=
            &format!("export PATH={PATH} HOME=/root\ncd /\nsay \"up at $(cut -d ' ' -f 1 /proc/uptime)\"\n");
        text += "mkdir -p /paceline/scripts\n";
        for (number, script) in self.scripts.iter().enumerate() {
            let file = format!("/paceline/scripts/{number}");
            text += &write(&file, &script.text);
            let at = script.at_ns.map_or_else(String::new, |at_ns| format!(" {at_ns}"));
            text += &format!("start {} {file}{at}\n", quoted(&script.label));
        }
        if let Some(stop_ns) = self.stop_ns {
            text += &format!("stop_at {stop_ns}\n");
        }
        let out: Vec<String> = self.out.iter().map(|path| quoted(path.trim_start_matches('/'))).collect();
        text += &format!("finish {}\n", out.join(" "));
        text
    }
}

impl SetupCard {
    fn text(&self, number: usize) -> String {
        let card = format!("eth{number}");
        let mut text = format!("ip link set {card} address {} mtu {} up\n", mac(self.mac), self.mtu);
        // A network of one address has no broadcast of its own.
        let broadcast = if self.prefix < 32 { " broadcast +" } else { "" };
        text += &format!("ip addr add {}/{}{broadcast} dev {card}\n", self.address, self.prefix);
        if let Some(gateway) = self.gateway {
            // The kernel takes a gateway only if it has a way to it.
            if !self.has_in_network(gateway) {
                text += &format!("ip route add {gateway} dev {card}\n");
            }
            text += &format!("ip route add default via {gateway} dev {card}\n");
        }
        for (address, neighbour) in &self.neighbours {
            text += &format!("arp -i {card} -s {address} {}\n", mac(*neighbour));
        }
        text
    }

    /// Whether an address is one of the card's network.
    fn has_in_network(&self, address: Ipv4Addr) -> bool {
        let network = |address: Ipv4Addr| u64::from(u32::from(address)) >> (32 - self.prefix);
        network(address) == network(self.address)
    }
}

fn mac(address: [u8; 6]) -> String {
    address.map(|byte| format!("{byte:02x}")).join(":")
}

/// Lines that write a file.
fn write(path: &str, content: &str) -> String {
    format!("printf %s {} >{path}\n", quoted(content))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn sample() -> Setup {
        Setup {
            name: "web".into(),
            cards: vec![SetupCard {
                mac: [0x52, 0x54, 0, 0, 0, 7],
                mtu: 1400,
                address: [10, 0, 0, 7].into(),
                prefix: 24,
                gateway: Some([10, 0, 0, 1].into()),
                neighbours: vec![([10, 0, 0, 1].into(), [2, 0, 0, 0, 0, 1])],
            }],
            hosts: vec![("web".into(), [10, 0, 0, 7].into())],
            congestion_control: Some("bbr".into()),
            scripts: vec![SetupScript {
                label: "run".into(),
                at_ns: Some(2_000_000_000),
                text: "echo 'it'\"'\"'s'\n".into(),
            }],
            stop_ns: Some(9),
            out: vec!["/out".into()],
            ..Setup::default()
        }
    }

    #[test]
    fn cards_and_scripts_stand_in_the_text() {
        let text = sample().text();
        for line in [
            "hostname 'web'",
            "ip link set eth0 address 52:54:00:00:00:07 mtu 1400 up",
            "ip addr add 10.0.0.7/24 broadcast + dev eth0",
            "ip route add default via 10.0.0.1 dev eth0",
            "arp -i eth0 -s 10.0.0.1 02:00:00:00:00:01",
            "load_modules tcp_bbr",
            "start 'run' /paceline/scripts/0 2000000000",
            "stop_at 9",
            "finish 'out'",
        ] {
            assert!(text.lines().any(|other| other == line), "{line}\nis missing in\n{text}");
        }
    }

    #[test]
    fn a_gateway_outside_of_the_card_s_network_has_a_route() {
        let mut setup = sample();
        let is_routed = |setup: &Setup| setup.text().contains("ip route add 169.254.1.1 dev eth0\n");
        assert!(!is_routed(&setup));
        setup.cards[0].prefix = 32;
        setup.cards[0].gateway = Some([169, 254, 1, 1].into());
        assert!(is_routed(&setup), "{}", setup.text());
    }

    #[test]
    fn a_shell_takes_any_word_as_it_is() {
        for word in ["daemon off;", "it's $HOME", "'", "a\nb\\c\"", "$(true)`x`"] {
            let output =
                Command::new("sh").args(["-c", &format!("printf %s {}", quoted(word))]).output().unwrap();
            assert_eq!(String::from_utf8(output.stdout).unwrap(), word);
        }
        let checked = Command::new("sh").args(["-n", "-c", &sample().text()]).status().unwrap();
        assert!(checked.success());
    }
}
