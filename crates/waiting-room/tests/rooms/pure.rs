//! The pure rules as a waiting room: the reference for the other implementations.

use std::collections::HashMap;
use std::sync::Mutex;

use async_trait::async_trait;
use holdfast_core::Timestamp;
use holdfast_core::id::UserId;
use holdfast_waiting_room::room::EnterOutcome;
use holdfast_waiting_room::view::{Standing, UserState};
use holdfast_waiting_room::{
    Change, Entered, Entry, Error, EventId, EventSettings, Joined, Keys, Options, Refusal, Room, Stats, View,
    WaitingRoom,
};
use tokio::sync::broadcast;

pub(crate) struct Pure {
    options: Options,
    rooms: Mutex<HashMap<EventId, Room>>,
    changes: broadcast::Sender<Change>,
}

impl Pure {
    pub(crate) fn new(options: Options) -> Self {
        Self { options, rooms: Mutex::default(), changes: broadcast::Sender::new(1) }
    }

    fn with<T>(&self, event: EventId, settings: &EventSettings, act: impl FnOnce(&mut Room, Timestamp) -> T) -> T {
        let mut rooms = self.rooms.lock().unwrap();
        let room = rooms.entry(event).or_insert_with(|| Room::new(self.options.timings));
        let now = self.options.clock.now();
        room.configure(settings, now);
        let answer = act(room, now);
        room.take_records();
        answer
    }

    fn view(&self, event: EventId, user: &UserId, state: &UserState) -> View {
        View::new(&self.options.keys, &self.options.timings, event, user, state)
    }
}

#[async_trait]
impl WaitingRoom for Pure {
    async fn join(&self, event: EventId, settings: &EventSettings, user: &UserId) -> Result<Joined, Error> {
        let (state, new) = self.with(event, settings, |room, now| room.join(user, now));
        Ok(Joined { view: self.view(event, user, &state), new })
    }

    async fn poll(
        &self,
        event: EventId,
        settings: &EventSettings,
        user: &UserId,
    ) -> Result<Result<View, Refusal>, Error> {
        let state = self.with(event, settings, |room, now| room.poll(user, now));
        Ok(state.map(|state| self.view(event, user, &state)).ok_or(Refusal::NotInQueue))
    }

    async fn enter(
        &self,
        event: EventId,
        settings: &EventSettings,
        user: &UserId,
    ) -> Result<Result<Entered, Refusal>, Error> {
        let id = (self.options.ids)();
        Ok(match self.with(event, settings, |room, now| room.enter(user, id, now)) {
            EnterOutcome::Entered { state, first } => {
                let Standing::Entered(admission) = state.standing else { panic!("{state:?}") };
                Ok(Entered { entry: Entry::sign(&self.options.keys, event, user, admission), first })
            }
            EnterOutcome::NotYet(state) => Err(Refusal::NotYourTurn(self.view(event, user, &state))),
            EnterOutcome::NotInQueue => Err(Refusal::NotInQueue),
        })
    }

    async fn leave(&self, event: EventId, settings: &EventSettings, user: &UserId) -> Result<bool, Error> {
        Ok(self.with(event, settings, |room, now| room.leave(user, now)))
    }

    async fn give_back(&self, event: EventId, settings: &EventSettings, user: &UserId) -> Result<bool, Error> {
        Ok(self.with(event, settings, |room, now| room.give_back(user, now)))
    }

    async fn entry(&self, event: EventId, settings: &EventSettings, user: &UserId) -> Result<Option<Entry>, Error> {
        let admission = self.with(event, settings, |room, now| room.entry(user, now));
        Ok(admission.map(|admission| Entry::sign(&self.options.keys, event, user, admission)))
    }

    async fn configure(&self, event: EventId, settings: &EventSettings) -> Result<(), Error> {
        self.with(event, settings, |_, _| ());
        Ok(())
    }

    async fn stats(&self, event: EventId, settings: &EventSettings) -> Result<Stats, Error> {
        Ok(self.with(event, settings, Room::stats))
    }

    async fn tidy(&self) -> Result<(), Error> {
        Ok(())
    }

    fn keys(&self) -> &Keys {
        &self.options.keys
    }

    fn subscribe(&self) -> broadcast::Receiver<Change> {
        self.changes.subscribe()
    }
}
