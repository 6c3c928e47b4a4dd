//! Styles, scripts and vendored files, embedded when the binary is built: see `build.rs`.

use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, header};

use holdfast_server::problem::Problem;

include!(concat!(env!("OUT_DIR"), "/assets.rs"));

/// An embedded file.
#[derive(Debug)]
pub struct Asset {
    name: &'static str,
    plain: &'static [u8],
    gzip: &'static [u8],
}

impl Asset {
    fn content_type(&self) -> &'static str {
        match self.name.rsplit('.').next() {
            Some("css") => "text/css; charset=utf-8",
            Some("js") => "text/javascript; charset=utf-8",
            Some("svg") => "image/svg+xml",
            _ => "text/plain; charset=utf-8",
        }
    }
}

/// `/assets/{version}/{name}`. Under the present version a file is immutable. Under any other (a page that was open
/// while the server was replaced) the present file is returned without caching.
pub async fn get(Path((version, name)): Path<(String, String)>, headers: HeaderMap) -> Result<Response, Problem> {
    let asset = ASSETS.iter().find(|asset| asset.name == name).ok_or_else(Problem::not_found)?;
    let takes_gzip =
        headers.get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok()).is_some_and(|encodings| {
            encodings.split(',').any(|it| it.split(';').next().is_some_and(|it| it.trim() == "gzip"))
        });
    let mut response = if takes_gzip {
        ([(header::CONTENT_ENCODING, "gzip")], asset.gzip).into_response()
    } else {
        asset.plain.into_response()
    };
    let keep = if version == VERSION { "public, max-age=31536000, immutable" } else { "no-cache" };
    let head = response.headers_mut();
    head.insert(header::CONTENT_TYPE, HeaderValue::from_static(asset.content_type()));
    head.insert(header::CACHE_CONTROL, HeaderValue::from_static(keep));
    head.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    head.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    Ok(response)
}
