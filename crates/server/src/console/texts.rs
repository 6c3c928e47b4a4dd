//! Texts of pages in both languages. They are in `console/texts/*.toml`, once for templates and scripts.

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

/// Returns the browser's language. The default of pages is English; that of the API's problems is Korean.
pub fn language(headers: &HeaderMap) -> Language {
    if headers.contains_key(header::ACCEPT_LANGUAGE) { Language::asked_for(headers) } else { Language::English }
}

/// Replaces each `{name}` in a sentence with its value.
pub fn fill(sentence: &str, values: &[(&str, &str)]) -> String {
    values.iter().fold(sentence.to_owned(), |sentence, (name, value)| sentence.replace(&format!("{{{name}}}"), value))
}
