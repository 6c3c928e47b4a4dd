//! What pages say, in both languages. The sentences stand in `console/texts/*.toml`, once for templates and scripts.

use http::{HeaderMap, header};

use crate::problem::Language;

include!(concat!(env!("OUT_DIR"), "/texts.rs"));

impl Texts {
    pub fn of(language: Language) -> &'static Self {
        match language {
            Language::Korean => &KOREAN,
            Language::English => &ENGLISH,
        }
    }
}

/// The browser's language. A page is English to whoever does not say; a problem of the API is not.
pub fn language(headers: &HeaderMap) -> Language {
    if headers.contains_key(header::ACCEPT_LANGUAGE) { Language::asked_for(headers) } else { Language::English }
}

/// Puts values where a sentence has `{name}`.
pub fn fill(sentence: &str, values: &[(&str, &str)]) -> String {
    values.iter().fold(sentence.to_owned(), |sentence, (name, value)| sentence.replace(&format!("{{{name}}}"), value))
}
