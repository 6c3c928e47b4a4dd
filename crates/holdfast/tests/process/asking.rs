//! Callers who get no answer and ask again, each time another server, under the same key: in the end they know what happened.

use std::sync::{Arc, RwLock};
use std::time::{Duration, Instant};

use holdfast_client::{Client, Error};

/// How servers are reached; one that was started again has another address.
pub(crate) type Clients = Arc<RwLock<Vec<Client>>>;

/// Whoever has no answer by then never gets one.
const ANSWERED_WITHIN: Duration = Duration::from_secs(40);

/// One user.
pub(crate) struct Asker {
    pub(crate) user: u64,
    servers: Clients,
    /// Which server to begin with.
    turn: usize,
    pub(crate) requests: usize,
}

impl Asker {
    pub(crate) fn new(servers: Clients, user: u64, turn: usize) -> Self {
        Self { user, servers, turn, requests: 0 }
    }

    /// Asks until there is an answer: what came of it, or the code of a refusal.
    pub(crate) async fn answer<T, Answer>(&mut self, ask: impl Fn(Client) -> Answer) -> Result<T, String>
    where
        Answer: Future<Output = Result<T, Error>>,
    {
        let key = format!("{}-{}", self.user, self.requests);
        self.requests += 1;
        let began = Instant::now();
        for attempt in 0.. {
            let server = {
                let servers = self.servers.read().unwrap();
                servers[(self.turn + self.requests + attempt) % servers.len()].clone()
            };
            match ask(server.as_user(self.user).with_idempotency_key(&key)).await {
                Ok(answer) => return Ok(answer),
                // Nothing changed, or nobody knows.
                Err(Error::Problem(problem)) if problem.status < 429 && problem.code != "LOCK_TIMEOUT" => {
                    return Err(problem.code);
                }
                Err(error) => assert!(began.elapsed() < ANSWERED_WITHIN, "no answer to {key}: {error}"),
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        unreachable!("there is always another attempt")
    }
}
