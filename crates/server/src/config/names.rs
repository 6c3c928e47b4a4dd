//! Names of all settings, and suggestions for misspelt ones.

use super::ConfigError;
use super::load::ENVIRONMENT_PREFIX;

/// Maximum edit distance of a suggestion: a third of the name's length, within these bounds.
const DISTANCE_MIN: usize = 1;
const DISTANCE_MAX: usize = 4;

/// All settings as section and key, in the order of `holdfast.toml`.
#[derive(Debug)]
pub(super) struct Names(Vec<(&'static str, &'static str)>);

impl Names {
    /// Reads the names from the manual of settings, including those that are commented out.
    pub(super) fn of(manual: &'static str) -> Self {
        let mut names = Vec::new();
        let mut section = "";
        for line in manual.lines() {
            if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                section = name;
            } else if let Some((key, value)) = line.strip_prefix("# ").unwrap_or(line).split_once(" = ")
                && key.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
                && value.starts_with(|first: char| first == '"' || first.is_ascii_digit())
            {
                names.push((section, key));
            }
        }
        Self(names)
    }

    #[cfg(test)]
    pub(super) fn iter(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.0.iter().copied()
    }

    pub(super) fn has_section(&self, section: &str) -> bool {
        self.0.iter().any(|(known, _)| *known == section)
    }

    pub(super) fn has(&self, section: &str, key: &str) -> bool {
        self.0.contains(&(section, key))
    }

    /// Returns the setting of an environment variable.
    pub(super) fn of_variable(&self, name: &str) -> Option<(&'static str, &'static str)> {
        self.0.iter().copied().find(|(section, key)| variable(section, key) == name)
    }

    pub(super) fn unknown_variable(&self, name: &str) -> ConfigError {
        let nearest = self.nearest(&name[ENVIRONMENT_PREFIX.len()..].to_lowercase(), '_');
        unknown(name, nearest.map(|(section, key)| variable(section, key)))
    }

    /// Error for a `section.key` of a file, or for a key outside any section. `place` is the file and the line.
    pub(super) fn unknown_setting(&self, place: &str, name: &str) -> ConfigError {
        let nearest = self.nearest(name, '.').map(|(section, key)| format!("{section}.{key}"));
        unknown(&format!("{place}: {name}"), nearest)
    }

    /// Error for a section without any known setting in it.
    pub(super) fn unknown_section(&self, place: &str, section: &str) -> ConfigError {
        let nearest = nearest(section, self.0.iter().map(|(known, _)| (*known, (*known).to_owned())));
        unknown(&format!("{place}: [{section}]"), nearest.map(|name| format!("[{name}]")))
    }

    /// Returns the setting whose full name is nearest, or one with the given name in another section.
    fn nearest(&self, name: &str, separator: char) -> Option<(&'static str, &'static str)> {
        let full = |(section, key): (&str, &str)| format!("{section}{separator}{key}");
        nearest(name, self.0.iter().map(|setting| (*setting, full(*setting)))).or_else(|| {
            let key = name.rsplit('.').next().unwrap_or_default();
            self.0.iter().copied().find(|(_, known)| *known == key)
        })
    }
}

fn variable(section: &str, key: &str) -> String {
    format!("{ENVIRONMENT_PREFIX}{}_{}", section.to_uppercase(), key.to_uppercase())
}

fn unknown(name: &str, suggestion: Option<String>) -> ConfigError {
    let hint = suggestion.map_or_else(|| "see holdfast.toml".to_owned(), |known| format!("did you mean {known}?"));
    ConfigError(format!("{name}: there is no such setting; {hint}"))
}

/// Returns the candidate with the smallest edit distance to `name`, if it is small enough for a typing error.
fn nearest<T>(name: &str, candidates: impl Iterator<Item = (T, String)>) -> Option<T> {
    let distance_max = (name.len() / 3).clamp(DISTANCE_MIN, DISTANCE_MAX);
    let measured = candidates.map(|(candidate, spelled)| (distance(name, &spelled), candidate));
    let close = measured.filter(|(distance, _)| *distance <= distance_max);
    close.min_by_key(|(distance, _)| *distance).map(|(_, candidate)| candidate)
}

/// Returns the number of inserted, removed, replaced and swapped adjacent bytes between two names (optimal string alignment).
fn distance(from: &str, to: &str) -> usize {
    let (from, to) = (from.as_bytes(), to.as_bytes());
    // Rows of the matrix: two above, above, current.
    let mut rows = [vec![0; to.len() + 1], (0..=to.len()).collect::<Vec<_>>(), vec![0; to.len() + 1]];
    for (i, a) in from.iter().enumerate() {
        rows[2][0] = i + 1;
        for (j, b) in to.iter().enumerate() {
            let replaced = rows[1][j] + usize::from(a != b);
            let mut least = replaced.min(rows[1][j + 1] + 1).min(rows[2][j] + 1);
            if i > 0 && j > 0 && *a == to[j - 1] && from[i - 1] == *b {
                least = least.min(rows[0][j - 1] + 1);
            }
            rows[2][j + 1] = least;
        }
        rows.rotate_left(1);
    }
    rows[1][to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_counts_edits() {
        for (from, to, edits) in [
            ("", "", 0),
            ("", "ab", 2),
            ("ab", "", 2),
            ("ttl", "tlt", 1),
            ("data", "date", 1),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(distance(from, to), edits, "{from} {to}");
            assert_eq!(distance(to, from), edits, "{to} {from}");
        }
    }
}
