//! Pipelined statements: one round trip for any number of them.
//!
//! A statement is sent when it is added, without waiting for those before it. A transaction is sent with its COMMIT, so
//! the database itself checks every condition.

use std::pin::{Pin, pin};
use std::time::Duration;

use futures_util::TryStreamExt as _;
use futures_util::future::{BoxFuture, FutureExt as _, MaybeDone, maybe_done};
use holdfast_core::schema::Value;
use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Error, Row};

use crate::codec::Col;
use crate::connection::Connection;
use crate::error::{CommitError, is_refusal_of_commit, sentence};

pub(crate) const BEGIN: &str = "BEGIN READ WRITE";
pub(crate) const BEGIN_SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
pub(crate) const COMMIT: &str = "COMMIT";
pub(crate) const ROLLBACK: &str = "ROLLBACK";

pub(crate) type Param<'a> = Box<dyn ToSql + Sync + Send + 'a>;

/// Parameters of a statement, in order.
macro_rules! params {
    ($($value:expr),* $(,)?) => { vec![$(Box::new($value) as $crate::pipeline::Param<'_>),*] };
}
pub(crate) use params;

/// Collects one value of each row into an array parameter.
pub(crate) fn column<'a, R: Copy, C: ToSql + Sync + Send + 'a>(rows: &[R], value: impl FnMut(R) -> C) -> Param<'a> {
    Box::new(rows.iter().copied().map(value).collect::<Vec<C>>())
}

/// Index of a statement's response.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticket(usize);

pub(crate) struct Pipeline<'a> {
    connection: &'a Connection,
    sent: Vec<Sent<'a>>,
    /// Sent after all statements, each with two more round trips.
    copies: Vec<BulkInsert<'a>>,
}

/// Rows to be inserted by a COPY.
struct BulkInsert<'a> {
    sql: &'static str,
    types: Vec<Type>,
    rows: Vec<Vec<Col<Value<'a>>>>,
}

type Sent<'a> = MaybeDone<BoxFuture<'a, Result<Vec<Row>, Error>>>;

impl<'a> Pipeline<'a> {
    pub(crate) fn new(connection: &'a Connection) -> Self {
        Self { connection, sent: Vec::new(), copies: Vec::new() }
    }

    pub(crate) fn send(&mut self, sql: &'static str, params: Vec<Param<'a>>) -> Ticket {
        let connection = self.connection;
        let statement = connection.statement(sql);
        let answer = async move { connection.client().query_raw(statement, params).await?.try_collect().await };
        let mut answer = maybe_done(answer.boxed());
        // The library sends the statement on the first poll.
        (&mut answer).now_or_never();
        self.sent.push(answer);
        Ticket(self.sent.len() - 1)
    }

    /// Adds rows for a COPY. They come after all statements, so no statement of the transaction may need them.
    pub(crate) fn copy(&mut self, sql: &'static str, types: Vec<Type>, rows: Vec<Vec<Value<'a>>>) {
        let rows = rows.into_iter().map(|row| row.into_iter().map(Col).collect()).collect();
        self.copies.push(BulkInsert { sql, types, rows });
    }

    async fn send_copies(&mut self) -> Result<(), Error> {
        for BulkInsert { sql, types, rows } in std::mem::take(&mut self.copies) {
            let sink = self.connection.client().copy_in(self.connection.statement(sql)).await?;
            self.connection.count_round_trip();
            // Dropped after an error, it ends the COPY without inserting anything.
            let mut writer = pin!(BinaryCopyInWriter::new(sink, &types));
            for row in rows {
                writer.as_mut().write_raw(row).await?;
            }
            writer.finish().await?;
            self.connection.count_round_trip();
        }
        Ok(())
    }

    /// Waits for all responses in order: the library proceeds to the next only when the one before is consumed.
    pub(crate) async fn answers(self) -> Answers {
        self.connection.count_round_trip();
        let mut answers = Vec::with_capacity(self.sent.len());
        for mut sent in self.sent {
            (&mut sent).await;
            answers.push(Pin::new(&mut sent).take_output().expect("it was waited for"));
        }
        Answers(answers)
    }

    /// Whether the library failed to send a statement.
    fn refused(&self) -> bool {
        self.sent.iter().any(|sent| matches!(sent, MaybeDone::Done(Err(_))))
    }
}

/// In the order of the statements.
pub(crate) struct Answers(Vec<Result<Vec<Row>, Error>>);

impl Answers {
    /// Returns the first error, if any; later ones follow from it.
    pub(crate) fn check(self) -> Result<QueryResults, Error> {
        self.0.into_iter().collect::<Result<_, _>>().map(QueryResults)
    }
}

/// Responses of successful statements.
#[derive(Debug)]
pub(crate) struct QueryResults(Vec<Vec<Row>>);

impl QueryResults {
    pub(crate) fn take(&mut self, ticket: Ticket) -> Vec<Row> {
        std::mem::take(&mut self.0[ticket.0])
    }

    /// Returns the row of a statement that always yields exactly one.
    pub(crate) fn one(&self, ticket: Ticket) -> &Row {
        self.0[ticket.0].first().expect("a statement that always answers with one row")
    }
}

/// Transaction in one round trip, unless rows are copied.
pub(crate) struct Transaction<'a>(Pipeline<'a>);

impl<'a> Transaction<'a> {
    pub(crate) fn begin(connection: &'a Connection) -> Self {
        let mut pipeline = Pipeline::new(connection);
        pipeline.send(BEGIN, Vec::new());
        Self(pipeline)
    }

    /// Statements of the transaction.
    pub(crate) fn pipeline(&mut self) -> &mut Pipeline<'a> {
        &mut self.0
    }

    /// Commits and returns the outcome. If it is unknown, the connection must not be used again.
    pub(crate) async fn commit(self, within: Duration) -> Result<QueryResults, CommitError> {
        let place = self.0.connection.place();
        let ended = tokio::time::timeout(within, self.end()).await;
        ended.unwrap_or_else(|_| {
            let seconds = within.as_secs_f64();
            Err(CommitError::Unknown(format!("PostgreSQL at {place} did not answer within {seconds} s")))
        })
    }

    async fn end(mut self) -> Result<QueryResults, CommitError> {
        let is_sent = !self.0.refused() && !self.0.connection.is_closed();
        let copied = if is_sent { self.0.send_copies().await } else { Ok(()) };
        let may_commit = is_sent && copied.is_ok();
        self.0.send(if may_commit { COMMIT } else { ROLLBACK }, Vec::new());
        let Answers(mut answers) = self.0.answers().await;
        let last = answers.pop().expect("the COMMIT was sent");
        match answers.into_iter().collect::<Result<_, _>>().and_then(|answers| copied.map(|()| answers)) {
            // Responses are in order: this error precedes the COMMIT.
            Err(error) if !may_commit || error.as_db_error().is_some() => Err(CommitError::Refused(error)),
            Err(error) => Err(CommitError::Unknown(sentence(&error))),
            Ok(answers) => match last {
                Ok(_) => Ok(QueryResults(answers)),
                Err(error) if !may_commit || is_refusal_of_commit(&error) => Err(CommitError::Refused(error)),
                Err(error) => Err(CommitError::Unknown(sentence(&error))),
            },
        }
    }
}
