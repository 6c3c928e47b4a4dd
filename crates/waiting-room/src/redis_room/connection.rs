//! Connection to the Redis that holds the rooms.

use std::sync::{Arc, LazyLock};

use holdfast_dial::Trust;
use holdfast_dial::redis::{Link, is_dead};
use redis::{RedisError, ToRedisArgs};
use tokio::runtime::Handle;

use crate::waiting_room::Error;

const SOURCE: &str = include_str!("room.lua");
static SCRIPT: LazyLock<redis::Script> = LazyLock::new(|| redis::Script::new(SOURCE));

#[derive(Debug)]
pub(super) struct Connection {
    link: Arc<Link>,
}

impl Connection {
    /// To be called inside the runtime that drives the connection.
    pub(super) fn new(url: &str, trust: &Trust) -> Result<Self, Error> {
        let link = Link::new(url, trust, Handle::current());
        let link = link.map_err(|error| Error::Unavailable(format!("`server.redis_url`: {error}")))?;
        Ok(Self { link: Arc::new(link) })
    }

    pub(super) fn link(&self) -> Arc<Link> {
        self.link.clone()
    }

    pub(super) fn runtime(&self) -> &Handle {
        self.link.runtime()
    }

    pub(super) fn round_trips(&self) -> u64 {
        self.link.round_trips()
    }

    pub(super) async fn ping(&self) -> Result<(), Error> {
        let mut open = self.link.open().await.map_err(|error| unavailable(&error))?;
        let ping = redis::cmd("PING");
        let answer = self.link.ask(&mut open, async |connection| ping.query_async::<String>(connection).await).await;
        answer.map(|_| ()).map_err(|error| unavailable(&error))
    }

    /// Runs the script. Retried once on a new connection if the old one is dead: every call is safe to repeat.
    pub(super) async fn run(&self, call: &Call) -> Result<Vec<Vec<u8>>, Error> {
        let command = call.by_hash();
        let mut is_retry = false;
        loop {
            let mut open = self.link.open().await.map_err(|error| unavailable(&error))?;
            let answer = self.link.ask(&mut open, async |connection| command.query_async(connection).await).await;
            match answer {
                Ok(answer) => return Ok(answer),
                Err(error) if is_retry => return Err(unavailable(&error)),
                Err(error) if error.code() == Some("NOSCRIPT") => {
                    let mut load = redis::cmd("SCRIPT");
                    load.arg("LOAD").arg(SOURCE);
                    let loaded = self.link.ask(&mut open, async |connection| load.query_async(connection).await).await;
                    let _name: String = loaded.map_err(|error| unavailable(&error))?;
                }
                Err(error) if is_dead(&error) => {}
                Err(error) => return Err(unavailable(&error)),
            }
            is_retry = true;
        }
    }
}

/// Keys and arguments of the script.
#[derive(Debug, Default)]
pub(super) struct Call {
    keys: Vec<String>,
    args: Vec<String>,
}

impl Call {
    pub(super) fn key(&mut self, key: String) -> &mut Self {
        self.keys.push(key);
        self
    }

    pub(super) fn arg(&mut self, arg: impl std::fmt::Display + Copy) -> &mut Self {
        self.args.push(arg.to_string());
        self
    }

    fn by_hash(&self) -> redis::Cmd {
        let mut command = redis::cmd("EVALSHA");
        command.arg(SCRIPT.get_hash()).arg(self.keys.len());
        for text in self.keys.iter().chain(&self.args) {
            text.write_redis_args(&mut command);
        }
        command
    }
}

pub(super) fn unavailable(error: &RedisError) -> Error {
    Error::Unavailable(format!("Redis: {error}"))
}
