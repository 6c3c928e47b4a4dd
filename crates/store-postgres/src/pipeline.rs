//! Statements that go to the database together: one round trip, however many they are.
//!
//! A statement is sent when it is added, in that order, without waiting for those before it. A transaction is sent with
//! its COMMIT, so whatever must stop it is checked by the database itself.

use std::pin::{Pin, pin};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::{BoxFuture, FutureExt as _, MaybeDone, maybe_done};
use futures_util::{SinkExt as _, TryStreamExt as _};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Error, Row};

use crate::connection::Connection;
use crate::error::{CommitError, is_refusal_of_commit, sentence};

pub(crate) const BEGIN: &str = "BEGIN READ WRITE";
pub(crate) const BEGIN_SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
pub(crate) const COMMIT: &str = "COMMIT";
pub(crate) const ROLLBACK: &str = "ROLLBACK";

pub(crate) type Param<'a> = Box<dyn ToSql + Sync + Send + 'a>;

/// Values of a statement, in order.
macro_rules! params {
    ($($value:expr),* $(,)?) => { vec![$(Box::new($value) as $crate::pipeline::Param<'_>),*] };
}
pub(crate) use params;

/// One value of each row, as an array.
pub(crate) fn column<'a, R: Copy, C: ToSql + Sync + Send + 'a>(rows: &[R], value: impl FnMut(R) -> C) -> Param<'a> {
    Box::new(rows.iter().copied().map(value).collect::<Vec<C>>())
}

/// Where the answer to a statement is found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticket(usize);

pub(crate) struct Pipeline<'a> {
    connection: &'a Connection,
    sent: Vec<Sent<'a>>,
    /// To be sent when all else is, each with two more round trips.
    copies: Vec<(&'static str, Bytes)>,
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
        // Sends it; the library does so when it is first asked.
        (&mut answer).now_or_never();
        self.sent.push(answer);
        Ticket(self.sent.len() - 1)
    }

    /// Rows for a COPY. They come after all statements, so nothing in the same transaction may need them.
    pub(crate) fn copy(&mut self, sql: &'static str, rows: Bytes) {
        self.copies.push((sql, rows));
    }

    async fn send_copies(&mut self) -> Result<(), Error> {
        for (sql, rows) in std::mem::take(&mut self.copies) {
            let copying = self.connection.client().copy_in(self.connection.statement(sql)).await?;
            self.connection.count_round_trip();
            let mut copying = pin!(copying);
            copying.send(rows).await?;
            copying.finish().await?;
            self.connection.count_round_trip();
        }
        Ok(())
    }

    /// Waits for all answers, in the order in which they come: the library goes on to the next one only when what it has of the one
    /// before is taken.
    pub(crate) async fn answers(self) -> Answers {
        self.connection.count_round_trip();
        let mut answers = Vec::with_capacity(self.sent.len());
        for mut sent in self.sent {
            (&mut sent).await;
            answers.push(Pin::new(&mut sent).take_output().expect("it was waited for"));
        }
        Answers(answers)
    }

    /// What the library refused to send, if anything.
    fn refused(&self) -> bool {
        self.sent.iter().any(|sent| matches!(sent, MaybeDone::Done(Err(_))))
    }
}

/// In the order of the statements.
pub(crate) struct Answers(Vec<Result<Vec<Row>, Error>>);

impl Answers {
    /// The first error tells why; those after it only follow from it.
    pub(crate) fn check(self) -> Result<Rows, Error> {
        self.0.into_iter().collect::<Result<_, _>>().map(Rows)
    }
}

/// The answers of statements that all went well.
#[derive(Debug)]
pub(crate) struct Rows(Vec<Vec<Row>>);

impl Rows {
    pub(crate) fn take(&mut self, ticket: Ticket) -> Vec<Row> {
        std::mem::take(&mut self.0[ticket.0])
    }

    /// The only row of a statement that always answers with one.
    pub(crate) fn one(&self, ticket: Ticket) -> &Row {
        self.0[ticket.0].first().expect("a statement that always answers with one row")
    }
}

/// A transaction in one round trip, if nothing is copied.
pub(crate) struct Transaction<'a>(Pipeline<'a>);

impl<'a> Transaction<'a> {
    pub(crate) fn begin(connection: &'a Connection) -> Self {
        let mut pipeline = Pipeline::new(connection);
        pipeline.send(BEGIN, Vec::new());
        Self(pipeline)
    }

    /// The statements of the transaction.
    pub(crate) fn pipeline(&mut self) -> &mut Pipeline<'a> {
        &mut self.0
    }

    /// Commits, and says how it ended. If that is not known, the connection is good for nothing any more.
    pub(crate) async fn commit(self, within: Duration) -> Result<Rows, CommitError> {
        let ended = tokio::time::timeout(within, self.end()).await;
        ended.unwrap_or_else(|_| Err(CommitError::Unknown(format!("no answer within {within:?}"))))
    }

    async fn end(mut self) -> Result<Rows, CommitError> {
        let is_sent = !self.0.refused() && !self.0.connection.is_closed();
        let copied = if is_sent { self.0.send_copies().await } else { Ok(()) };
        let may_commit = is_sent && copied.is_ok();
        self.0.send(if may_commit { COMMIT } else { ROLLBACK }, Vec::new());
        let Answers(mut answers) = self.0.answers().await;
        let last = answers.pop().expect("the COMMIT was sent");
        match answers.into_iter().collect::<Result<_, _>>().and_then(|answers| copied.map(|()| answers)) {
            // In order: a statement that the server refused was refused before it came to the COMMIT.
            Err(error) if !may_commit || error.as_db_error().is_some() => Err(CommitError::Refused(error)),
            Err(error) => Err(CommitError::Unknown(sentence(&error))),
            Ok(answers) => match last {
                Ok(_) => Ok(Rows(answers)),
                Err(error) if !may_commit || is_refusal_of_commit(&error) => Err(CommitError::Refused(error)),
                Err(error) => Err(CommitError::Unknown(sentence(&error))),
            },
        }
    }
}
