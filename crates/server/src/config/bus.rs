//! Settings of the communication between services: the roles of a process, their databases, and NATS.

use std::time::Duration;

use holdfast_core::tee::{Service, Subject};
use holdfast_engine::store::Keep;
use holdfast_events::nats::options::is_prefix;
use holdfast_events::nats::{Options, StreamOptions};

use super::spelling::quote;
use super::{Config, ConfigError, Secret, span};
use crate::roles::{Role, Roles};

impl Config {
    pub fn roles(&self) -> Roles {
        Roles::parse(&self.server.roles).unwrap_or(Roles::ALL)
    }

    /// Returns the settings of each group of roles that share a database, the group with the API role first.
    pub fn groups(&self) -> Vec<Self> {
        let mut groups: Vec<(Option<&str>, Roles)> = Vec::new();
        for role in self.roles().iter() {
            let database = self.database_of(role).map(Secret::reveal);
            match groups.iter_mut().find(|(other, _)| *other == database) {
                Some((_, roles)) => *roles = roles.with(role),
                None => groups.push((database, Roles::of([role]))),
            }
        }
        groups.into_iter().map(|(database, roles)| self.group(database, roles)).collect()
    }

    fn group(&self, database: Option<&str>, roles: Roles) -> Self {
        let mut group = self.clone();
        group.server.roles = roles.to_string();
        if database != self.server.database_url.as_ref().map(Secret::reveal) {
            // Two databases must not share live rows in one Redis.
            let first = roles.iter().next().map_or("", Role::as_str);
            group.redis.prefix = format!("{}{first}:", self.redis.prefix);
        }
        group.server.database_url = database.map(Secret::new);
        group
    }

    fn database_of(&self, role: Role) -> Option<&Secret> {
        let own = match role {
            Role::Api => None,
            Role::Booking => self.booking.database_url.as_ref(),
            Role::Course => self.course.database_url.as_ref(),
            Role::Notify => self.notify.database_url.as_ref(),
        };
        own.or(self.server.database_url.as_ref())
    }

    /// Retention of published events and of inbox entries.
    pub fn keep(&self) -> Keep {
        Keep { outbox: span(self.tee.outbox_keep), inbox: span(self.tee.processed_ttl) }
    }

    /// Returns the options of NATS, if it is used.
    pub fn bus(&self) -> Option<Options> {
        let url = self.server.nats_url.as_ref()?.reveal().to_owned();
        let streams = Service::ALL.iter().map(|service| {
            let subjects = Subject::ALL.iter().filter(|subject| subject.stream() == *service);
            let listens = *service == Subject::BookingCreated.stream() && self.roles().imports_bookings();
            StreamOptions {
                service: service.as_str().to_owned(),
                subjects: subjects.map(|subject| subject.as_str().to_owned()).collect(),
                listeners: listens.then(|| Role::Api.as_str().to_owned()).into_iter().collect(),
            }
        });
        Some(Options {
            url,
            tls_roots: self.server.nats_tls_roots(),
            prefix: self.nats.prefix.clone(),
            name: format!("holdfast {}", self.server.roles),
            timeout: self.tee.bus_timeout,
            age_max: self.nats.age_max,
            bytes_max: self.nats.bytes_max,
            streams: streams.collect(),
        })
    }

    pub(super) fn validate_bus(&self) -> Result<(), ConfigError> {
        let wrong = |text: String| Err(ConfigError(text));
        if let Err(role) = Roles::parse(&self.server.roles) {
            return wrong(format!("server.roles: {} is none of api, booking, course, notify, all", quote(role)));
        }
        if !is_prefix(&self.nats.prefix) {
            return wrong("nats.prefix: must have at most 50 characters, each a letter, a digit, - or _".into());
        }
        if !(Duration::from_hours(1)..=Duration::from_hours(24 * 365)).contains(&self.nats.age_max) {
            return wrong("nats.age_max: must be from 1h to 365d".into());
        }
        if !(1 << 20..=1 << 40).contains(&self.nats.bytes_max) {
            return wrong("nats.bytes_max: must be from 1048576 to 1099511627776".into());
        }
        if self.server.nats_url.is_some() {
            return Ok(());
        }
        if self.roles() != Roles::ALL {
            return wrong("server.roles: parts in separate processes need server.nats_url, to reach each other".into());
        }
        let apart = self.roles().iter().find(|role| {
            let [own, all] = [self.database_of(*role), self.server.database_url.as_ref()];
            own.map(Secret::reveal) != all.map(Secret::reveal)
        });
        match apart.map(Role::as_str) {
            Some(role) => wrong(format!(
                "{role}.database_url: services on separate databases need server.nats_url, to reach each other"
            )),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn databases(config: &Config) -> Vec<(String, Option<String>, String)> {
        let groups = config.groups().into_iter();
        let shown = groups.map(|group| {
            let database = group.server.database_url.map(|url| url.reveal().to_owned());
            (group.server.roles, database, group.redis.prefix)
        });
        shown.collect()
    }

    #[test]
    fn roles_that_share_a_database_form_a_group() {
        let mut config = Config::defaults();
        assert_eq!(databases(&config), [("api,booking,course,notify".into(), None, String::new())]);
        config.server.database_url = Some(Secret::new("postgres://a"));
        config.course.database_url = Some(Secret::new("postgres://b"));
        config.notify.database_url = Some(Secret::new("postgres://a"));
        config.redis.prefix = "x:".into();
        let (a, b) = (Some("postgres://a".to_owned()), Some("postgres://b".to_owned()));
        assert_eq!(
            databases(&config),
            [("api,booking,notify".into(), a, "x:".into()), ("course".into(), b.clone(), "x:course:".into())]
        );
        config.server.roles = "course".into();
        assert_eq!(databases(&config), [("course".into(), b, "x:course:".into())]);
    }

    /// Every subject belongs to exactly one stream, and the API alone is an additional consumer of bookings.
    #[test]
    fn api_without_booking_consumes_booking_stream() {
        let mut config = Config::defaults();
        assert!(config.bus().is_none());
        config.server.nats_url = Some(Secret::new("nats://x"));
        let mut subjects: Vec<String> = config.bus().unwrap().streams.into_iter().flat_map(|it| it.subjects).collect();
        subjects.sort();
        let mut expected: Vec<_> = Subject::ALL.iter().map(|it| it.as_str()).collect();
        expected.sort_unstable();
        assert_eq!(subjects, expected);
        for (roles, consumers) in [
            ("all", vec!["course", "booking", "notify"]),
            ("api", vec!["course", "booking", "notify", "api"]),
            ("api,notify", vec!["course", "booking", "notify", "api"]),
            ("booking,course", vec!["course", "booking", "notify"]),
        ] {
            config.server.roles = roles.into();
            let streams = config.bus().unwrap().streams;
            let found: Vec<&str> = streams.iter().flat_map(StreamOptions::consumers).collect();
            assert_eq!(found, consumers, "{roles}");
        }
    }
}
