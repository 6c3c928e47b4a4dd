//! The contract over HTTP, sentence by sentence, against a real server on a real store.

mod auth;
mod conventions;
mod documents;
mod races;
mod stays;
mod stream;
mod support;
