//! Clients that retry unanswered requests on other servers under the same key, until they know the outcome.

use std::sync::{Arc, RwLock};
use std::time::{Duration, Instant};

use holdfast_client::{Client, Error, UserId};

/// Clients of the servers; a restarted server has another address.
pub(crate) type Clients = Arc<RwLock<Vec<Client>>>;

/// Deadline for an answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(40);

/// Client of one user.
pub(crate) struct RetryingClient {
    pub(crate) user: UserId,
    servers: Clients,
    /// Index of the server to begin with.
    turn: usize,
    pub(crate) requests: usize,
}

impl RetryingClient {
    pub(crate) fn new(servers: Clients, user: impl Into<UserId>, turn: usize) -> Self {
        Self { user: user.into(), servers, turn, requests: 0 }
    }

    /// Retries until there is an answer: the result, or the code of a rejection.
    pub(crate) async fn answer<T, Answer>(&mut self, call: impl Fn(Client) -> Answer) -> Result<T, String>
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
            match call(server.as_user(self.user.clone()).with_idempotency_key(&key)).await {
                Ok(answer) => return Ok(answer),
                // Other errors mean that no row changed, or that the outcome is unknown.
                Err(Error::Problem(problem)) if problem.status < 429 && problem.code != "LOCK_TIMEOUT" => {
                    return Err(problem.code);
                }
                Err(error) => assert!(began.elapsed() < ANSWER_TIMEOUT, "no answer to {key}: {error}"),
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        unreachable!("there is always another attempt")
    }
}
