//! Commands of requests: each runs once per idempotency key, and its answer is kept under the key.

use std::sync::Arc;
use std::time::Instant;

use axum::response::{IntoResponse, Response};
use holdfast_core::Command;
use holdfast_core::id::UserId;
use holdfast_core::idempotency::{self, IdempotencyRecordId, KeepAnswer};
use holdfast_core::ticket::EventId;
use holdfast_engine::{Answer, Once};
use parking_lot::Mutex;

use super::reply::kept_reply;
use super::{App, Reply};
use crate::answer_backpressure::UnreadAnswers;
use crate::caller::Caller;
use crate::keyed_mutex::Turn;
use crate::problem::Problem;
use crate::request::Mutation;

/// Minimum weight of a command whose answer may be large.
const LARGE_WEIGHT_MIN: usize = 16;

impl App {
    /// Does the same as [`Self::run`] and returns the outcome beside the reply, so that work after the commit needs no read
    /// that could fail. A replayed reply has no outcome, but still has its [`Reply::records`].
    pub async fn run_with_outcome<C: Command>(
        &self,
        caller: &Caller,
        request: &Mutation,
        command: C,
        render: impl Fn(&C::Outcome) -> Reply + Send + 'static,
    ) -> Result<(Reply, Option<C::Outcome>), Problem>
    where
        C::Outcome: Clone + Send + 'static,
    {
        let rendered = Arc::new(Mutex::new(None));
        let keep = rendered.clone();
        let reply = self.run_for_reply(caller, request, command, move |outcome: &C::Outcome| {
            // A command is decided again after a conflict; the last outcome is the committed one.
            *keep.lock() = Some(outcome.clone());
            render(outcome)
        });
        let reply = reply.await?;
        let outcome = rendered.lock().take();
        let outcome = outcome.filter(|_| !reply.is_replayed);
        Ok((reply, outcome))
    }

    /// Executes a command, once per idempotency key. `render` makes the answer from the outcome.
    pub async fn run<C: Command>(
        &self,
        caller: &Caller,
        request: &Mutation,
        command: C,
        render: impl Fn(&C::Outcome) -> Reply + Send + 'static,
    ) -> Result<Response, Problem> {
        Ok(self.run_for_reply(caller, request, command, render).await?.into_response())
    }

    /// Does the same as [`Self::run`] and returns the reply, with its [`Reply::records`].
    pub async fn run_for_reply<C: Command>(
        &self,
        caller: &Caller,
        request: &Mutation,
        command: C,
        render: impl Fn(&C::Outcome) -> Reply + Send + 'static,
    ) -> Result<Reply, Problem> {
        let Some((id, fingerprint)) = request.receipt(caller)? else {
            return match self.engine().run_for(caller.flow(), command, None).await? {
                Answer::Fresh(outcome) => {
                    self.stream().activity().changed(C::NAME);
                    Ok(render(&outcome))
                }
                Answer::Recorded(_) | Answer::Replayed(_) => unreachable!("no record is kept without a key"),
            };
        };
        if command.weight() >= LARGE_WEIGHT_MIN {
            self.check_record_quota(&id, &fingerprint).await?;
        }
        let render = Box::new(move |outcome: &C::Outcome| Some(render(outcome).to_bytes()));
        let once = Once { id: id.clone(), fingerprint, render };
        let answer = self.engine().run_for(caller.flow(), command, Some(once)).await?;
        self.stream().activity().changed(C::NAME);
        if let Answer::Recorded(bytes) = &answer {
            self.count_record(&id, bytes.len());
        }
        kept_reply(answer)
    }

    /// Runs an action other than an engine command once per idempotency key. The action must be idempotent: the server may
    /// end after it and before its answer is recorded, and another server may run it at the same time.
    pub async fn once(
        &self,
        caller: &Caller,
        request: &Mutation,
        act: impl Future<Output = Result<Reply, Problem>> + Send,
    ) -> Result<Response, Problem> {
        let Some((id, fingerprint)) = request.receipt(caller)? else { return Ok(act.await?.into_response()) };
        let _turn = self.shared.keys_in_use.take(id.clone()).await?;
        if let Some(replayed) = self.replay_of(&id, &fingerprint).await? {
            return Ok(replayed.into_response());
        }
        let reply = act.await?;
        let bytes = reply.to_bytes();
        let once = Once { id, fingerprint, render: Box::new(move |()| Some(bytes.clone())) };
        match self.engine().run_for(caller.flow(), KeepAnswer, Some(once)).await {
            Ok(answer) => Ok(kept_reply(answer)?.into_response()),
            // The action has succeeded, so the client gets its answer. A retry runs the action again, which is safe.
            Err(error) => {
                tracing::warn!(%error, "cannot keep the idempotency record of an answer; a retry runs the action again");
                Ok(reply.into_response())
            }
        }
    }

    /// Rejects a large request under an idempotency key if its caller has used up its quota of records. A request that
    /// already has a record is always accepted.
    pub(crate) async fn check_record_quota(
        &self,
        id: &IdempotencyRecordId,
        fingerprint: &[u8; 32],
    ) -> Result<(), Problem> {
        let quota = &self.shared.record_quota;
        let Some(wait) = quota.wait(&id.caller, Instant::now()) else { return Ok(()) };
        match self.query(|rows, at| idempotency::find(rows, at, id, fingerprint)).await? {
            Some(_) => Ok(()),
            None => Err(Problem::record_quota_used_up(quota.bytes_max(), wait)),
        }
    }

    /// Counts a kept idempotency record against the quota of its caller.
    pub(crate) fn count_record(&self, id: &IdempotencyRecordId, bytes: usize) {
        self.shared.record_quota.count(&id.caller, bytes, Instant::now());
    }

    /// Large answers that clients have not read yet.
    pub(crate) fn unread(&self) -> &UnreadAnswers {
        &self.shared.unread
    }

    /// Returns the recorded answer for the idempotency key of a request, if there is one.
    pub async fn replay(&self, caller: &Caller, request: &Mutation) -> Result<Option<Response>, Problem> {
        let Some((id, fingerprint)) = request.receipt(caller)? else { return Ok(None) };
        Ok(self.replay_of(&id, &fingerprint).await?.map(IntoResponse::into_response))
    }

    async fn replay_of(&self, id: &IdempotencyRecordId, fingerprint: &[u8; 32]) -> Result<Option<Reply>, Problem> {
        let found = self.query(|rows, at| idempotency::find(rows, at, id, fingerprint)).await?;
        found.map(|bytes| kept_reply(Answer::<()>::Replayed(bytes))).transpose()
    }

    /// Locks the entry of a user to an event, so that concurrent requests cannot use the same entry.
    pub(crate) async fn spending(&self, event: EventId, user: UserId) -> Result<Turn<'_, (EventId, UserId)>, Problem> {
        Ok(self.shared.entries_in_use.take((event, user)).await?)
    }
}
