//! `holdfast token`: signs a bearer token with `auth.jwt_secret`, for trying a server with auth on.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, bail};
use holdfast_connect::jwt::{EncodingKey, Header, encode};
use holdfast_engine::{Clock as _, SystemClock};
use holdfast_server::Config;
use serde::Serialize;

use crate::arguments::duration;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// User that the token is for.
    #[arg(long, value_name = "USER")]
    user: String,
    #[arg(long, value_parser = ["user", "admin", "service"], default_value = "user")]
    role: String,
    /// Time until the token expires.
    #[arg(long, value_name = "DURATION", default_value = "1h", value_parser = duration)]
    expires_in: Duration,
    /// Settings file, as for `serve`.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

#[derive(Serialize)]
struct Claims<'a> {
    sub: &'a str,
    role: &'a str,
    exp: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    aud: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    iss: Option<&'a str>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let auth = Config::load(args.config.as_deref(), std::env::vars_os(), &[])?.auth;
    let Some(secret) = &auth.jwt_secret else {
        bail!(
            "auth.jwt_secret is not set; set HOLDFAST_AUTH_JWT_SECRET to the secret of the server, at least 32 characters"
        );
    };
    let expires_in = i64::try_from(args.expires_in.as_secs()).context("--expires-in is too long")?;
    let now = SystemClock.now().as_millis() / 1_000;
    let claims = Claims {
        sub: &args.user,
        role: &args.role,
        exp: now.checked_add(expires_in).context("--expires-in is too long")?,
        aud: auth.audience.as_deref(),
        iss: auth.issuer.as_deref(),
    };
    println!("{}", encode(&Header::default(), &claims, &EncodingKey::from_secret(secret.reveal().as_bytes()))?);
    Ok(ExitCode::SUCCESS)
}
