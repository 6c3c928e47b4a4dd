//! Texts of pages in both languages. They are in `texts/*.toml`, once for templates and scripts.

use http::HeaderMap;

use holdfast_server::problem::Language;

include!(concat!(env!("OUT_DIR"), "/texts.rs"));

impl Texts {
    pub fn of(language: Language) -> &'static Self {
        match language {
            Language::Korean => &KOREAN,
            Language::English => &ENGLISH,
        }
    }
}

/// Returns the browser's language. The default of pages is English; that of the API's problems is `server.language`.
pub fn language(headers: &HeaderMap) -> Language {
    Language::asked_for(headers).unwrap_or(Language::English)
}

/// Replaces each `{name}` in a sentence with its value.
pub fn fill(sentence: &str, values: &[(&str, &str)]) -> String {
    values.iter().fold(sentence.to_owned(), |sentence, (name, value)| sentence.replace(&format!("{{{name}}}"), value))
}
