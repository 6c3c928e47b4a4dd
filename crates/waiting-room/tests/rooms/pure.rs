//! The rules themselves as a waiting room, with nothing around them: what the others are compared with.

use std::collections::HashMap;
use std::sync::Mutex;

use async_trait::async_trait;
use holdfast_core::Timestamp;
use holdfast_core::id::UserId;
use holdfast_waiting_room::room::Tried;
use holdfast_waiting_room::view::{Sight, Standing};
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

    fn view(&self, event: EventId, user: UserId, sight: &Sight) -> View {
        View::new(&self.options.keys, &self.options.timings, event, user, sight)
    }
}

#[async_trait]
impl WaitingRoom for Pure {
    async fn join(&self, event: EventId, settings: &EventSettings, user: UserId) -> Result<Joined, Error> {
        let (sight, new) = self.with(event, settings, |room, now| room.join(user, now));
        Ok(Joined { view: self.view(event, user, &sight), new })
    }

    async fn poll(
        &self,
        event: EventId,
        settings: &EventSettings,
        user: UserId,
    ) -> Result<Result<View, Refusal>, Error> {
        let sight = self.with(event, settings, |room, now| room.poll(user, now));
        Ok(sight.map(|sight| self.view(event, user, &sight)).ok_or(Refusal::NotInQueue))
    }

    async fn enter(
        &self,
        event: EventId,
        settings: &EventSettings,
        user: UserId,
    ) -> Result<Result<Entered, Refusal>, Error> {
        let id = (self.options.ids)();
        Ok(match self.with(event, settings, |room, now| room.enter(user, id, now)) {
            Tried::Entered { sight, first } => {
                let Standing::Entered(admission) = sight.standing else { panic!("{sight:?}") };
                Ok(Entered { entry: Entry::sign(&self.options.keys, event, user, admission), first })
            }
            Tried::NotYet(sight) => Err(Refusal::NotYourTurn(self.view(event, user, &sight))),
            Tried::NotInQueue => Err(Refusal::NotInQueue),
        })
    }

    async fn leave(&self, event: EventId, settings: &EventSettings, user: UserId) -> Result<bool, Error> {
        Ok(self.with(event, settings, |room, now| room.leave(user, now)))
    }

    async fn give_back(&self, event: EventId, settings: &EventSettings, user: UserId) -> Result<bool, Error> {
        Ok(self.with(event, settings, |room, now| room.give_back(user, now)))
    }

    async fn entry(&self, event: EventId, settings: &EventSettings, user: UserId) -> Result<Option<Entry>, Error> {
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
