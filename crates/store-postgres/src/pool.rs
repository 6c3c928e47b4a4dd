//! Pool of connections for reads beside the batches.

use std::sync::Arc;
use std::time::Duration;

use deadpool::managed::{self, Metrics, Object, PoolError, RecycleError, RecycleResult};
use holdfast_engine::StoreError;

use crate::connection::{Connection, ConnectionFactory, Purpose};
use crate::open::{self, OpenError};

/// Maximum wait for a free connection, beside the time to create one.
const CHECKOUT_TIMEOUT: Duration = Duration::from_secs(1);

/// Connection factory of a pool.
pub(crate) struct Manager {
    pub(crate) connector: Arc<ConnectionFactory>,
    pub(crate) purpose: Purpose,
    pub(crate) statements: Vec<&'static str>,
    /// Whether each connection joins the servers that share the database.
    pub(crate) joins: bool,
}

impl managed::Manager for Manager {
    type Type = Connection;
    type Error = OpenError;

    async fn create(&self) -> Result<Connection, OpenError> {
        let connection = self.connector.connect(self.purpose, &self.statements).await?;
        if self.joins {
            open::join(&connection).await?;
        }
        Ok(connection)
    }

    async fn recycle(&self, connection: &mut Connection, _: &Metrics) -> RecycleResult<OpenError> {
        if connection.is_closed() { Err(RecycleError::message("the connection is closed")) } else { Ok(()) }
    }
}

/// Cheap to clone.
#[derive(Clone)]
pub(crate) struct Pool(managed::Pool<Manager>);

impl Pool {
    pub(crate) fn new(manager: Manager, connections_max: usize) -> Self {
        let builder = managed::Pool::builder(manager).max_size(connections_max.max(1));
        Self(builder.build().expect("a pool without timeouts of its own needs nothing"))
    }

    pub(crate) async fn get(&self) -> Result<Object<Manager>, OpenError> {
        let connector = &self.0.manager().connector;
        let limit = CHECKOUT_TIMEOUT + connector.connects_within();
        match tokio::time::timeout(limit, self.0.get()).await {
            Ok(Ok(connection)) => Ok(connection),
            Ok(Err(PoolError::Backend(error))) => Err(error),
            Ok(Err(other)) => Err(OpenError::Unavailable(other.to_string())),
            Err(_) => {
                let (place, seconds) = (connector.place(), limit.as_secs_f64());
                let why = format!("no connection to PostgreSQL at {place} was free within {seconds} s");
                Err(OpenError::Unavailable(why))
            }
        }
    }
}

/// Runs `work` on a connection of the pool. A connection that times out is dropped with its unfinished work; it would
/// delay the next caller.
pub(crate) async fn within<T>(
    pool: &Pool,
    limit: Duration,
    work: impl AsyncFnOnce(&Connection) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let connection = pool.get().await?;
    match tokio::time::timeout(limit, work(&connection)).await {
        Ok(answer) => answer,
        Err(_) => {
            let why = format!("PostgreSQL at {} did not answer within {} s", connection.place(), limit.as_secs_f64());
            drop(Object::take(connection));
            Err(StoreError::Unavailable(why))
        }
    }
}
