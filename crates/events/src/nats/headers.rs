//! Headers of messages that arrive.

use async_nats::HeaderMap;

/// Headers of a message that arrived. Names are compared without regard to case, as in HTTP; NATS keeps the sender's spelling.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Headers(Vec<(String, String)>);

impl Headers {
    /// The first value of a header.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.get_all(name).next()
    }

    /// All values of a header, in order if the sender spelled its name in one way.
    pub fn get_all<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| &**value)
    }
}

impl From<HeaderMap> for Headers {
    fn from(map: HeaderMap) -> Self {
        let pairs = map.iter().flat_map(|(name, values)| {
            values.iter().map(move |value| (AsRef::<str>::as_ref(name).to_owned(), value.as_str().to_owned()))
        });
        let mut pairs: Vec<_> = pairs.collect();
        // The order of names in the map is random; equal requests must be read alike. The sort is stable.
        pairs.sort_by(|(one, _), (other, _)| one.cmp(other));
        Self(pairs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_names_match_in_any_case() {
        let mut map = HeaderMap::new();
        map.insert("IDEMPOTENCY-KEY", "a");
        map.append("Accept", "one");
        map.append("Accept", "two");
        let headers = Headers::from(map);
        assert_eq!(headers.get("idempotency-key"), Some("a"));
        assert_eq!(headers.get("Idempotency-Key"), Some("a"));
        assert_eq!(headers.get_all("accept").collect::<Vec<_>>(), ["one", "two"]);
        assert_eq!(headers.get("prefer"), None);
    }
}
