//! Console over HTTP: permissions, origins, headers, contents. Its appearance is tested in a browser.

use std::time::Duration;

use futures_util::StreamExt as _;
use holdfast_core::time::Span;
use holdfast_server::Config;
use holdfast_server::config::Secret;
use holdfast_testkit::Profile;
use serde_json::{Value, json};

use crate::auth::{LATER, SECRET, token};
use crate::support::{TestApp, day, placed, with_app, with_settings};

async fn with_console(test: impl AsyncFn(&TestApp)) {
    with_app(Profile::Embedded, test).await;
}

async fn with_auth(test: impl AsyncFn(&TestApp)) {
    let auth = |config: &mut Config| config.auth.jwt_secret = Some(Secret::new(SECRET));
    with_settings(Profile::Embedded, auth, test).await;
}

fn cookie(role: &str) -> String {
    format!("other=1; holdfast_session={}", token(&json!({"sub": "1", "role": role, "exp": LATER})))
}

#[tokio::test(flavor = "multi_thread")]
async fn page_has_browser_language_and_strict_csp() {
    with_console(async |app| {
        for (headers, lang, word) in [
            (&[("accept-language", "ko-KR,ko;q=0.9,en;q=0.8")][..], "ko", "숙박"),
            (&[("accept-language", "en-GB")][..], "en", "Stays"),
            (&[("accept-language", "fr")][..], "en", "Stays"),
            (&[][..], "en", "Stays"),
        ] {
            let page = app.send("GET", "/", headers, "").await;
            assert_eq!((page.status, page.header("content-language")), (200, Some(lang)));
            assert!(page.text.contains(&format!("<html lang=\"{lang}\">")) && page.text.contains(word), "{lang}");
            let policy = page.header("content-security-policy").unwrap();
            assert!(policy.starts_with("default-src 'none'; script-src 'self';"), "{policy}");
            assert!(!policy.contains("unsafe") && policy.contains("frame-ancestors 'none'"), "{policy}");
            assert_eq!(page.header("cache-control"), Some("no-store"));
        }
        assert_eq!(app.send("GET", "/console/nonsense", &[], "").await.refusal(), (404, "NOT_FOUND"));
        let hostile = app.send("GET", "/console/search?q=%3Cscript%3Ealert(1)%3C/script%3E", &[], "").await;
        assert!(hostile.status == 200 && !hostile.text.contains("<script>alert"), "{}", hostile.text);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn assets_are_immutable_per_version() {
    with_console(async |app| {
        let page = app.send("GET", "/", &[], "").await.text;
        let start = page.find("/assets/").unwrap();
        let path = page[start..].split('"').next().unwrap().replace("icon.svg", "base.css");
        let plain = app.send("GET", &path, &[], "").await;
        assert_eq!((plain.status, plain.header("content-type")), (200, Some("text/css; charset=utf-8")));
        assert_eq!(plain.header("cache-control"), Some("public, max-age=31536000, immutable"));
        assert_eq!(plain.header("content-encoding"), None);
        let packed = app.send("GET", &path, &[("accept-encoding", "br, gzip;q=0.8")], "").await;
        assert_eq!(packed.header("content-encoding"), Some("gzip"));
        assert!(packed.header("content-length").unwrap().parse::<usize>().unwrap() < plain.text.len() / 2);
        let old = app.send("GET", "/assets/0123/base.css", &[], "").await;
        assert_eq!((old.status, old.header("cache-control")), (200, Some("no-cache")));
        assert_eq!(app.send("GET", "/assets/0123/../Cargo.toml", &[], "").await.status, 404);
        assert_eq!(app.send("GET", "/assets/0123/nothing.js", &[], "").await.refusal(), (404, "NOT_FOUND"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn actions_need_console_origin() {
    with_console(async |app| {
        let host = app.url.strip_prefix("http://").unwrap();
        let body = r#"{"name":"객실","totalQuantity":3,"basePrice":1000}"#;
        let post = async |headers: &[(&str, &str)]| app.send("POST", "/console/api/v1/room-types", headers, body).await;
        let foreign = [
            &[][..],
            &[("origin", "http://localhost:3000")][..],
            &[("origin", app.url.as_str()), ("sec-fetch-site", "cross-site")][..],
            &[("origin", app.url.as_str()), ("sec-fetch-site", "same-site")][..],
        ];
        for headers in foreign {
            assert_eq!(post(headers).await.refusal(), (403, "FORBIDDEN"), "{headers:?}");
        }
        assert_eq!(post(&[("origin", &format!("http://{host}"))]).await.status, 201);
        assert_eq!(post(&[("sec-fetch-site", "same-origin")]).await.status, 201);

        // The console calls as an operator, and ignores the user named in a header.
        let room_type = app.room_type(5).await;
        let hold = placed(app, 7, &room_type, day(1), day(2)).await.hold_id;
        let seen = app.send("GET", &format!("/console/api/v1/holds/{hold}"), &[("x-user-id", "8")], "").await;
        assert_eq!((seen.status, &seen.json["userId"]), (200, &json!(7)));
        let wrong = app.send("DELETE", "/console/api/v1/courses", &[("sec-fetch-site", "same-origin")], "").await;
        assert_eq!(wrong.refusal(), (405, "METHOD_NOT_ALLOWED"));
        let inner = "/console/api/console/api/v1/room-types";
        for path in ["/console/api/healthz", inner, "/console/api/v1x", "/console/api/v1/nonsense"] {
            assert_eq!(app.send("GET", path, &[], "").await.refusal(), (404, "NOT_FOUND"), "{path}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cookie_opens_console_to_operators_only() {
    with_auth(async |app| {
        let get = async |path: &str, cookie: &str| app.send("GET", path, &[("cookie", cookie)], "").await;
        for role in ["admin", "service"] {
            assert_eq!(get("/console/api/v1/room-types", &cookie(role)).await.status, 200);
            assert!(get("/console/stays", &cookie(role)).await.text.contains("Sign out"));
        }
        assert_eq!(
            get("/v1/room-types", &cookie("admin")).await.refusal(),
            (401, "UNAUTHENTICATED"),
            "not for the API"
        );
        assert_eq!(get("/console/api/v1/room-types", "").await.refusal(), (401, "UNAUTHENTICATED"));
        assert_eq!(get("/console/api/v1/room-types", &cookie("user")).await.refusal(), (403, "FORBIDDEN"));
        assert_eq!(get("/console/figures", &cookie("user")).await.refusal(), (403, "FORBIDDEN"));
        let refused = get("/", &cookie("user")).await;
        assert!(refused.status == 403 && refused.text.contains("The console is for operators"), "{}", refused.text);

        let own = [("origin", app.url.as_str()), ("content-type", "application/x-www-form-urlencoded")];
        let good = format!("token={}", token(&json!({"sub": "1", "role": "admin", "exp": LATER})));
        assert_eq!(app.send("POST", "/console/sign-in", &[], &good).await.refusal(), (403, "FORBIDDEN"));
        assert_eq!(app.send("POST", "/console/sign-in", &own, "token=nonsense").await.status, 401);
        let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
        let post = |path: &str| client.post(format!("{}{path}", app.url)).header("origin", &app.url);
        let entered = post("/console/sign-in").body(good).send().await.unwrap();
        assert_eq!((entered.status().as_u16(), &entered.headers()["location"]), (303, &"/".parse().unwrap()));
        let set = entered.headers()["set-cookie"].to_str().unwrap();
        assert!(set.ends_with("; Path=/; HttpOnly; SameSite=Strict"), "{set}");
        let left = post("/console/sign-out").send().await.unwrap();
        assert!(left.headers()["set-cookie"].to_str().unwrap().contains("Max-Age=0"));
    })
    .await;
}

/// Returns the next sample that satisfies `is_wanted`, and its text.
async fn sample(
    bytes: &mut (impl futures_util::Stream<Item = reqwest::Result<bytes::Bytes>> + Unpin),
    is_wanted: impl Fn(&Value) -> bool,
) -> Value {
    let mut buffer = String::new();
    loop {
        let read = tokio::time::timeout(Duration::from_secs(30), bytes.next());
        buffer.push_str(std::str::from_utf8(&read.await.unwrap().unwrap().unwrap()).unwrap());
        while let Some((event, rest)) = buffer.split_once("\n\n") {
            let data = event.strip_prefix("event: figures\ndata: ").map(|data| serde_json::from_str(data).unwrap());
            buffer = rest.to_owned();
            if let Some(data) = data.filter(&is_wanted) {
                return data;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn viewers_share_one_computation() {
    with_console(async |app| {
        let room_type = app.room_type(9).await;
        let open = async || {
            let request = app.admin().request(reqwest::Method::GET, "/console/figures");
            request.send().await.unwrap().bytes_stream()
        };
        let (mut one, mut other) = (open().await, open().await);
        for user in 1..=3 {
            placed(app, user, &room_type, day(1), day(2)).await;
        }
        let seen = sample(&mut one, |it| it["live"][0] == 3 && it["looking"] == 2).await;
        let same = sample(&mut other, |it| it["at"] == seen["at"]).await;
        assert_eq!(seen, same);
        assert_eq!(seen["faults"], json!({}));
        app.pass(Span::from_hours(1));
        let later = sample(&mut one, |it| it["live"][0] == 0).await;
        assert_eq!(later["expired"], json!([3, 0, 0, 0, 0]));
        drop(other);
        sample(&mut one, |it| it["looking"] == 1).await;
    })
    .await;
}
