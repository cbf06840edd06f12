//! Who may see and steer a run.
//!
//! Whoever has the token may: it is drawn anew for each run and stands in the address that is printed, since
//! other users of this machine reach its ports too. The token does not protect against pages of other origins
//! that the same browser shows, so these are refused by what the browser says of them: by `Origin` and
//! `Sec-Fetch-Site`, and, for a name that a foreign server has turned to this machine (DNS rebinding), by
//! `Host`.

use std::net::{IpAddr, SocketAddr};

use axum::http::{HeaderMap, header};

/// Bytes of a token.
const TOKEN_BYTES: usize = 16;
/// The header in which requests to steer have the token: no form of another page can set it.
pub(super) const TOKEN_HEADER: &str = "x-paceline-token";

/// The token, and the names by which the page may be asked for.
#[derive(Clone, Debug)]
pub(super) struct Access {
    local: SocketAddr,
    token: String,
}

impl Access {
    /// With a new token, for the page that is served at `local`.
    pub(super) fn new(local: SocketAddr) -> Result<Self, getrandom::Error> {
        let mut bytes = [0; TOKEN_BYTES];
        getrandom::fill(&mut bytes)?;
        let token = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self { local, token })
    }

    /// What to open in a browser.
    pub(super) fn url(&self) -> String {
        format!("http://{}/?token={}", self.local, self.token)
    }

    /// Whether this is the token. Takes the same time for all wrong ones.
    pub(super) fn admits(&self, token: &str) -> bool {
        let differences =
            self.token.bytes().zip(token.bytes()).fold(0, |all, (one, other)| all | (one ^ other));
        token.len() == self.token.len() && differences == 0
    }

    /// Why a request is refused whatever token it has, judged by what the browser says of where it comes
    /// from.
    pub(super) fn refusal(&self, headers: &HeaderMap) -> Option<&'static str> {
        let said = |name| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
        let Some(host) = said(header::HOST).filter(|host| self.is_ours(host)) else {
            return Some("this page is not served under that name\n");
        };
        let is_foreign = |origin: &str| origin != format!("http://{host}");
        if said(header::ORIGIN).is_some_and(is_foreign) {
            return Some("requests of other pages are refused\n");
        }
        let site = headers.get("sec-fetch-site").map(|value| value.to_str().unwrap_or("?"));
        // "none" is what a person has typed or clicked outside of any page.
        match site {
            None | Some("same-origin" | "none") => None,
            Some(_) => Some("requests of other pages are refused\n"),
        }
    }

    /// Whether a request may name this host. A server that other machines reach has names that it does not
    /// know; there a foreign page has no token.
    fn is_ours(&self, host: &str) -> bool {
        if !self.local.ip().is_loopback() {
            return true;
        }
        let suffix = format!(":{}", self.local.port());
        let name = match host.strip_suffix(&suffix) {
            Some(name) => name,
            // Browsers leave out the usual port.
            None if self.local.port() == 80 => host,
            None => return false,
        };
        let address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        name == "localhost" || address.is_ok_and(|address| address.is_loopback())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn only_this_page_under_its_names_is_let_in() {
        let access = Access::new("127.0.0.1:7000".parse().unwrap()).unwrap();
        for (host, site, origin, is_let_in) in [
            ("127.0.0.1:7000", "same-origin", "http://127.0.0.1:7000", true),
            ("localhost:7000", "none", "http://localhost:7000", true),
            ("[::1]:7000", "none", "http://[::1]:7000", true),
            ("evil.example:7000", "same-origin", "http://evil.example:7000", false),
            ("127.0.0.1.evil.example:7000", "none", "http://127.0.0.1:7000", false),
            ("127.0.0.1:7001", "none", "http://127.0.0.1:7001", false),
            ("127.0.0.1:7000", "same-origin", "http://127.0.0.1:8000", false),
            ("127.0.0.1:7000", "same-origin", "null", false),
            ("127.0.0.1:7000", "same-site", "http://127.0.0.1:7000", false),
            ("127.0.0.1:7000", "cross-site", "http://127.0.0.1:7000", false),
        ] {
            let headers = headers(&[("host", host), ("sec-fetch-site", site), ("origin", origin)]);
            assert_eq!(access.refusal(&headers).is_none(), is_let_in, "{host} {site} {origin}");
        }
        assert!(access.refusal(&headers(&[])).is_some(), "no host");
        assert!(access.refusal(&headers(&[("host", "localhost:7000")])).is_none(), "no browser");
    }

    #[test]
    fn only_the_token_is_the_token() {
        let [one, other] = [(); 2].map(|()| Access::new("127.0.0.1:7000".parse().unwrap()).unwrap());
        assert!(one.admits(&one.token) && !one.admits(&other.token));
        assert!(!one.admits("") && !one.admits(&one.token[1..]) && !one.admits(&format!("{}0", one.token)));
    }
}
