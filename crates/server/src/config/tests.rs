//! Precedence of the sources of settings, and error messages.

use toml::{Table, Value};

use super::spelling::show_duration;
use super::*;

fn load(environment: &[(&str, &str)], flags: &[(&str, &str)]) -> Result<Config, String> {
    let environment = environment.iter().map(|(name, value)| (name.into(), value.into()));
    let flags: Vec<_> = flags.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
    Config::load(None, environment, &flags).map_err(|error| error.to_string())
}

#[test]
fn flag_overrides_environment_file_and_default() {
    let file = std::env::temp_dir().join(format!("holdfast-config-{}.toml", std::process::id()));
    std::fs::write(&file, "[stay]\nhold_ttl = \"2s\"\n[engine]\nlock_wait = \"20ms\"\nqueue_max = 7\n").unwrap();
    let environment =
        [("HOLDFAST_STAY_HOLD_TTL".into(), "3s".into()), ("HOLDFAST_ENGINE_LOCK_WAIT".into(), "30ms".into())];
    let config = Config::load(Some(&file), environment.into_iter(), &[("stay.hold_ttl", "4s".into())]).unwrap();
    std::fs::remove_file(&file).unwrap();
    assert_eq!(config.stay.hold_ttl, Duration::from_secs(4));
    assert_eq!(config.engine.lock_wait, Duration::from_millis(30));
    assert_eq!(config.engine.queue_max, 7);
    assert_eq!(config.engine.holds_per_user_max, 50);
}

#[cfg(unix)]
#[test]
fn secret_that_is_not_utf8_is_rejected() {
    use std::os::unix::ffi::OsStringExt as _;
    let secret = std::ffi::OsString::from_vec(vec![0x80; 64]);
    let environment = [("HOLDFAST_AUTH_JWT_SECRET".into(), secret)].into_iter();
    let refused = Config::load(None, environment, &[]).unwrap_err();
    assert_eq!(refused.to_string(), "HOLDFAST_AUTH_JWT_SECRET: this is not UTF-8");
}

#[test]
fn invalid_setting_is_named_in_one_line() {
    let cases: &[(&str, &str, &str)] = &[
        (
            "HOLDFAST_STAY_HOLD_TTL",
            "ten minutes",
            "stay.hold_ttl: \"ten minutes\" is not a duration; write it like 500ms, 10s, 30m, 24h or 7d",
        ),
        ("HOLDFAST_STAY_HOLD_TTL", "0s", "stay.hold_ttl: must be from 1s to 24h"),
        ("HOLDFAST_QUEUE_READY_TTL", "99ms", "queue.ready_ttl: must be from 100ms to 24h"),
        ("HOLDFAST_TEE_BUS_TIMEOUT", "99ms", "tee.bus_timeout: must be from 100ms to 5m"),
        ("HOLDFAST_ENGINE_HOLDS_PER_USER_MAX", "0", "engine.holds_per_user_max: must be from 1 to 100000"),
        (
            "HOLDFAST_SERVER_REDIS_URL",
            "redis://x",
            "server.redis_url: Redis keeps live holds only; set server.database_url too, for everything else",
        ),
        (
            "HOLDFAST_SERVER_DATABASE_URL",
            "mysql://x",
            "server.database_url: must begin with postgres:// or postgresql://",
        ),
        ("HOLDFAST_SERVER_NATS_URL", "http://x", "server.nats_url: must begin with nats:// or tls://"),
        ("HOLDFAST_SERVER_ROLES", "api,king", "server.roles: \"king\" is none of api, booking, course, notify, all"),
        (
            "HOLDFAST_SERVER_ROLES",
            "booking",
            "server.roles: parts in separate processes need server.nats_url, to reach each other",
        ),
        (
            "HOLDFAST_COURSE_DATABASE_URL",
            "postgres://x",
            "course.database_url: services on separate databases need server.nats_url, to reach each other",
        ),
        ("HOLDFAST_NATS_PREFIX", "a.b", "nats.prefix: must have at most 50 characters, each a letter, a digit, - or _"),
        ("HOLDFAST_TEE_OUTBOX_KEEP", "1h", "tee.outbox_keep: must be from 24h to 366d"),
        ("HOLDFAST_TEE_REFUND_LAST_DAY_PERCENT", "101", "tee.refund_last_day_percent: must be from 0 to 100"),
        (
            "HOLDFAST_AUTH_ISSUER",
            "me",
            "auth.issuer: has no effect while auth is off; set auth.jwt_secret or auth.jwt_public_key_file too",
        ),
        ("HOLDFAST_STREAM_KEEP", "59s", "stream.keep: must be from 1m to 7d"),
        ("HOLDFAST_STREAM_KEEP", "8d", "stream.keep: must be from 1m to 7d"),
        (
            "HOLDFAST_EVENTS_SOURCE",
            "two words",
            "events.source: must be a URI reference of at most 200 characters, like /holdfast or https://shop.example.com",
        ),
        (
            "HOLDFAST_WEBHOOK_ALLOW_NETWORKS",
            "10.0.0.0/8, 10.1.2.3/8",
            "webhook.allow_networks: \"10.1.2.3/8\" is not a network; write them like 10.0.0.0/8, fd00::/8, with commas between \
             and no bits behind the prefix",
        ),
        ("HOLDFAST_WEBHOOK_KEEP", "1m", "webhook.keep: must be from 1h to 365d"),
        ("HOLDFAST_WEBHOOK_RETRY_AFTER", "5s,8d", "webhook.retry_after: at most 50 waits, none longer than 7d"),
        ("HOLDFAST_WEBHOOK_CONNECT_TIMEOUT", "16s", "webhook.connect_timeout: must be from 1ms to 15s"),
        ("HOLDFAST_WEBHOOK_PER_WEBHOOK_MAX", "129", "webhook.per_webhook_max: must be from 1 to 128"),
        (
            "HOLDFAST_TEE_REFUND_TIERS",
            "7d:100, 3:80",
            "tee.refund_tiers: \"3:80\" is not a tier; write them like 7d:100, 3d:80, with commas between",
        ),
        (
            "HOLDFAST_TEE_REFUND_TIERS",
            "3d:80, 7d:100",
            "tee.refund_tiers: at most 7, each of fewer days than the one before, from 3650d to 1d and 0 to 100",
        ),
        (
            "HOLDFAST_TEE_REFUND_TIERS",
            "7d:101",
            "tee.refund_tiers: at most 7, each of fewer days than the one before, from 3650d to 1d and 0 to 100",
        ),
        ("HOLDFAST_ENGINE_QUEUE_MAX", "many", "engine.queue_max: must be a whole number, 0 or more"),
        ("HOLDFAST_ENGINE_QUEUE_MAX", "-1", "engine.queue_max: must be a whole number, 0 or more"),
        ("HOLDFAST_CALENDAR_KEEP_DAYS", "4294967296", "calendar.keep_days: is too large"),
        ("HOLDFAST_LOG_FORMAT", "xml", "log.format: \"xml\" is none of text, json"),
        ("HOLDFAST_REDIS_ON_LOSS", "panic", "redis.on_loss: \"panic\" is none of resume, quarantine"),
        ("HOLDFAST_SERVER_LANGUAGE", "fr", "server.language: \"fr\" is none of ko, en"),
        (
            "HOLDFAST_STAY_HOLD_TTL",
            "5s\n\"예약\"",
            "stay.hold_ttl: \"5s \"예약\"\" is not a duration; write it like 500ms, 10s, 30m, 24h or 7d",
        ),
        (
            "HOLDFAST_SERVER_LISTEN",
            "localhost",
            "server.listen: \"localhost\" is not an address; write it like 127.0.0.1:8080 or localhost:8080",
        ),
    ];
    for (name, value, expected) in cases {
        assert_eq!(load(&[(name, value)], &[]).unwrap_err(), *expected);
    }
    let error = load(&[("HOLDFAST_WEBHOOK_RETRY_AFTER", "5s,soon")], &[]).unwrap_err();
    assert!(error.starts_with("webhook.retry_after: \"soon\" is not a duration") && !error.contains('\n'), "{error}");
    let error = load(&[], &[("server.listen", "somewhere")]).unwrap_err();
    assert!(error.starts_with("server.listen: ") && !error.contains('\n'), "{error}");
}

#[test]
fn unknown_variable_is_named_with_the_nearest() {
    let cases: &[(&str, &str, &str)] = &[
        (
            "HOLDFAST_STAY_HOLD_TLT",
            "5s",
            "HOLDFAST_STAY_HOLD_TLT: there is no such setting; did you mean HOLDFAST_STAY_HOLD_TTL?",
        ),
        (
            "HOLDFAST_DATABASE_URL",
            "postgres://x",
            "HOLDFAST_DATABASE_URL: there is no such setting; did you mean HOLDFAST_SERVER_DATABASE_URL?",
        ),
        ("HOLDFAST_HOTEL_STARS", "5", "HOLDFAST_HOTEL_STARS: there is no such setting; see holdfast.toml"),
        ("HOLDFAST_NONSENSE", "5", "HOLDFAST_NONSENSE: there is no such setting; see holdfast.toml"),
    ];
    for (name, value, expected) in cases {
        assert_eq!(load(&[(name, value)], &[]).unwrap_err(), *expected);
    }
}

#[test]
fn misspelt_setting_in_file_is_located() {
    let cases = [
        ("[stay]\nhold_tlt = \"5s\"", ":2: stay.hold_tlt: there is no such setting; did you mean stay.hold_ttl?"),
        (
            "# mine\n\n[sever]\nlisten = \"x\"",
            ":4: sever.listen: there is no such setting; did you mean server.listen?",
        ),
        ("[sever]", ":1: [sever]: there is no such setting; did you mean [server]?"),
        ("\ndatabase_url = \"x\"", ":2: database_url: there is no such setting; did you mean server.database_url?"),
        ("[hotel]\nstars = 5", ":2: hotel.stars: there is no such setting; see holdfast.toml"),
        ("server.langage = \"en\"", ":1: server.langage: there is no such setting; did you mean server.language?"),
    ];
    for (text, expected) in cases {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let error = Config::load(Some(file.path()), std::iter::empty(), &[]).unwrap_err().to_string();
        assert_eq!(error, format!("{}{expected}", file.path().display()));
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "[stay]\nhold_ttl = \"5s\"\nnot toml\n").unwrap();
    let error = Config::load(Some(file.path()), std::iter::empty(), &[]).unwrap_err().to_string();
    assert!(error.starts_with(&format!("{}:3: ", file.path().display())) && !error.contains('\n'), "{error}");
}

/// Every name in the manual is a field, also one that is commented out.
#[test]
fn known_names_are_those_of_the_manual() {
    let names: Vec<_> = names::Names::of(DEFAULTS).iter().collect();
    for name in
        [("server", "database_url"), ("auth", "jwt_secret"), ("booking", "database_url"), ("queue", "token_secret")]
    {
        assert!(names.contains(&name), "{name:?}");
    }
    for (section, key) in &names {
        let mut table: Table = DEFAULTS.parse().unwrap();
        let keys = table[*section].as_table_mut().unwrap();
        let value = keys.get(*key).cloned().unwrap_or_else(|| Value::String("x".into()));
        keys.insert((*key).into(), value);
        if key.ends_with("ca_file") {
            continue;
        }
        let loaded: Result<Config, _> = Value::Table(table).try_into();
        assert!(loaded.is_ok(), "{section}.{key}: {:?}", loaded.err());
    }
}

#[test]
fn shortest_durations_are_accepted() {
    for name in ["STAY_HOLD_TTL", "SHOP_HOLD_TTL", "TICKET_HOLD_TTL", "CALENDAR_LOCK_TTL"] {
        load(&[(&format!("HOLDFAST_{name}"), "1s")], &[]).unwrap();
    }
    load(&[("HOLDFAST_QUEUE_ENTRY_MAX", "100ms")], &[]).unwrap();
    for name in ["SAGA_TIMEOUT", "SWEEP_EVERY", "BUS_TIMEOUT", "PROCESSED_TTL"] {
        load(&[(&format!("HOLDFAST_TEE_{name}"), "100ms")], &[]).unwrap();
    }
}

#[test]
fn empty_variable_is_rejected_by_name() {
    for name in [
        "HOLDFAST_AUTH_JWT_SECRET",
        "HOLDFAST_AUTH_JWT_PUBLIC_KEY_FILE",
        "HOLDFAST_AUTH_AUDIENCE",
        "HOLDFAST_AUTH_ISSUER",
        "HOLDFAST_SERVER_DATABASE_URL",
        "HOLDFAST_SERVER_REDIS_URL",
        "HOLDFAST_SERVER_NATS_URL",
        "HOLDFAST_SERVER_TLS_CA_FILE",
        "HOLDFAST_QUEUE_TOKEN_SECRET",
        "HOLDFAST_BOOKING_DATABASE_URL",
        "HOLDFAST_SERVER_DATA",
        "HOLDFAST_STAY_HOLD_TTL",
        "HOLDFAST_ENGINE_QUEUE_MAX",
    ] {
        for empty in ["", " "] {
            let refused = load(&[(name, empty)], &[]).unwrap_err();
            assert_eq!(refused, format!("{name}: is empty; give it a value, or remove the variable"));
        }
    }
    assert!(load(&[("HOLDFAST_REDIS_PREFIX", ""), ("HOLDFAST_NATS_PREFIX", "")], &[]).is_ok(), "empty by default");
}

#[test]
fn empty_auth_setting_is_rejected() {
    for name in ["auth.jwt_secret", "auth.jwt_public_key_file", "auth.audience", "auth.issuer"] {
        assert_eq!(load(&[], &[(name, "")]).unwrap_err(), format!("{name}: must not be empty"));
    }
    assert!(load(&[("HOLDFAST_AUTH_JWT_SECRET", "short")], &[]).is_ok());
}

#[test]
fn entry_token_secrets_are_validated() {
    let set = |name: &str, value: &str| load(&[(name, value)], &[]).map(drop);
    let (current, old) = ("HOLDFAST_QUEUE_TOKEN_SECRET", "HOLDFAST_QUEUE_TOKEN_SECRETS_OLD");
    let long = "0123456789abcdef0123456789abcdef";
    assert_eq!(set(current, long), Ok(()));
    assert_eq!(set(old, &format!("{long}, {long}x,")), Ok(()));
    assert_eq!(set(current, "short").unwrap_err(), "queue.token_secret: must have at least 32 bytes");
    assert_eq!(set(old, &format!("{long},short")).unwrap_err(), "queue.token_secrets_old: must have at least 32 bytes");
    let comma = format!("{long},{long}");
    assert_eq!(set(current, &comma).unwrap_err(), "queue.token_secret: must not contain a comma");
}

#[test]
fn host_name_is_resolved() {
    let listen = |text| load(&[], &[("server.listen", text)]).map(|config| config.server.listen);
    let found = listen("localhost:8081").unwrap();
    assert!(found.ip().is_loopback() && found.port() == 8081, "{found}");
    assert_eq!(listen("[::1]:8081").unwrap().to_string(), "[::1]:8081");
}

#[test]
fn refund_policy_follows_settings() {
    let refund = |tiers, last| {
        let flags = [("tee.refund_tiers", tiers), ("tee.refund_last_day_percent", last)];
        load(&[], &flags).unwrap().engine_settings().limits.tee.refund.to_string()
    };
    assert_eq!(Config::defaults().engine_settings().limits.tee.refund, tee::RefundPolicy::DEFAULT);
    assert_eq!(refund("14d:90,2d:40", "5"), "14:90 2:40 0:5");
    assert_eq!(refund("", "0"), "0:0");
}

#[test]
fn without_auth_only_loopback_is_allowed() {
    let error = load(&[], &[("server.listen", "0.0.0.0:8080")]).unwrap_err();
    assert!(error.starts_with("server.listen: 0.0.0.0:8080 is not a loopback address"), "{error}");
    let secret = ("HOLDFAST_AUTH_JWT_SECRET", "0123456789abcdef0123456789abcdef");
    assert!(load(&[secret], &[("server.listen", "0.0.0.0:8080")]).is_ok());
}

#[test]
fn commented_settings_are_valid() {
    let uncommented: String = DEFAULTS
        .lines()
        .map(|line| line.strip_prefix("# ").filter(|rest| rest.contains(" = \"")).unwrap_or(line))
        .collect::<Vec<_>>()
        .join("\n");
    let mut table: Table = uncommented.parse().unwrap();
    // Files of certificates are read during deserialization.
    let trusted = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(trusted.path(), holdfast_testkit::certificate::CERTIFICATE).unwrap();
    for name in ["tls_ca_file", "database_ca_file", "redis_ca_file", "nats_ca_file"] {
        assert!(table["server"].as_table().unwrap().contains_key(name), "{name}");
        table["server"][name] = Value::String(trusted.path().to_str().unwrap().into());
    }
    assert_eq!(table["auth"].as_table().unwrap().len(), 4);
    assert!(table["server"].as_table().unwrap().contains_key("nats_url"));
    let _: Config = Value::Table(table).try_into().unwrap();
}

#[test]
fn retry_waits_are_comma_separated_or_none() {
    let waits = |text| load(&[], &[("webhook.retry_after", text)]).unwrap().webhook.retry_after;
    assert_eq!(waits("5s, 30m"), [Duration::from_secs(5), Duration::from_mins(30)]);
    assert!(waits("").is_empty() && waits("none").is_empty());
    let defaults = Config::defaults().webhook.limits().retry_after;
    assert_eq!(defaults, webhook::Limits::DEFAULT.retry_after);
}

#[test]
fn allowed_networks_are_comma_separated() {
    let networks =
        |text| load(&[], &[("webhook.allow_networks", text)]).map(|config| config.webhook.allow_networks.len());
    assert_eq!((networks(""), networks("10.0.0.0/8"), networks("10.0.0.0/8, fd00::/8")), (Ok(0), Ok(1), Ok(2)));
    assert!(networks("10.0.0.0/8,").is_err() && networks("10.0.0.1").is_err());
    let many = vec!["10.0.0.0/8"; 101].join(",");
    assert_eq!(networks(&many).unwrap_err(), "webhook.allow_networks: at most 100");
}

#[test]
fn events_source_is_a_uri_reference() {
    let source = |text: &str| load(&[], &[("events.source", text)]).map(|config| config.events.source);
    let long = format!("/{}", "a".repeat(199));
    for good in ["/holdfast", "https://shop.example.com/seoul?x=1#y", "urn:uuid:6e8bc430", "shop/a:b", "a%20b", &long] {
        assert_eq!(source(good).as_deref(), Ok(good));
    }
    for wrong in ["", "a b", "예약", "1:2", ":x", "a%2", "a%zz", "<x>", "a#b#c", "a\\b", "a\u{7}", &format!("{long}a")]
    {
        assert!(source(wrong).is_err_and(|error| error.starts_with("events.source: ")), "{wrong}");
    }
}

#[test]
fn durations_are_a_number_and_a_unit() {
    assert_eq!(parse_duration("500ms"), Some(Duration::from_millis(500)));
    assert_eq!(parse_duration("7d"), Some(Duration::from_hours(168)));
    for wrong in ["", "5", "s", "5 s", "-5s", "1.5s", "99999999999999999999s", "18446744073709551615d", "5w"] {
        assert_eq!(parse_duration(wrong), None, "{wrong}");
    }
}

#[test]
fn durations_are_shown_as_they_are_written() {
    for text in ["0s", "1ms", "1500ms", "90s", "1m", "61m", "24h", "25h", "2d", "366d"] {
        assert_eq!(show_duration(parse_duration(text).unwrap()), text);
    }
    assert_eq!(show_duration(Duration::from_mins(2)), "2m");
}

#[test]
fn secrets_stay_out_of_logs() {
    assert_eq!(format!("{:?}", Secret::new("hush")), "(secret)");
}
