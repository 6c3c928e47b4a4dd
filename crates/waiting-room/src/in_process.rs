//! Rooms in the memory of a single server. A change is durable before any answer that depends on it: an answer waits
//! for all earlier changes of its room. Polls of waiters write nothing, so as a rule they do not wait.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use holdfast_core::Timestamp;
use holdfast_core::id::UserId;
use holdfast_core::time::Span;
use holdfast_engine::Clock;
use parking_lot::{Mutex, RwLock};
use tokio::sync::broadcast;

use crate::journal::{Journal, Row};
use crate::room::{EnterOutcome, Room};
use crate::settings::{EventId, EventSettings, Timings};
use crate::token::Keys;
use crate::view::{Entry, Standing, UserState, View};
use crate::waiting_room::{Change, Entered, Error, Joined, Refusal, Stats, WaitingRoom};
use crate::writer::Writer;

/// Idle time after which an empty room is evicted, and with it the revision of its settings. No caller still has older
/// settings by then.
const EVICT_AFTER: Span = Span::from_secs(600);

/// Source of entry ids: sixteen random bytes each.
pub type IdSource = Arc<dyn Fn() -> [u8; 16] + Send + Sync>;

#[derive(Clone)]
pub struct Options {
    pub timings: Timings,
    pub keys: Arc<Keys>,
    pub clock: Arc<dyn Clock>,
    pub ids: IdSource,
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options").field("timings", &self.timings).finish_non_exhaustive()
    }
}

#[derive(Debug)]
pub struct InProcess {
    options: Options,
    rooms: Arc<RwLock<Rooms>>,
    writer: Writer,
}

#[derive(Debug, Default)]
struct Rooms {
    generation: u64,
    by_event: HashMap<EventId, Arc<Mutex<LoadedRoom>>>,
}

/// A room in memory, and the journal position up to which its state has to be durable before it may be answered.
#[derive(Debug)]
struct LoadedRoom {
    generation: u64,
    room: Room,
    position: u64,
    used_at: Timestamp,
}

impl InProcess {
    /// Restores all rooms from the journal.
    pub async fn open(journal: impl Journal, options: Options) -> Result<Self, Error> {
        let rooms: Arc<RwLock<Rooms>> = Arc::default();
        let rebuild = {
            let (rooms, timings, clock) = (rooms.clone(), options.timings, options.clock.clone());
            move |generation, rows| {
                let rebuilt = rebuild(generation, timings, rows, clock.now());
                *rooms.write() = rebuilt;
            }
        };
        let writer = Writer::start(Box::new(journal), Box::new(rebuild)).await?;
        Ok(Self { options, rooms, writer })
    }

    fn room(&self, event: EventId) -> Arc<Mutex<LoadedRoom>> {
        let rooms = self.rooms.read();
        if let Some(room) = rooms.by_event.get(&event) {
            return room.clone();
        }
        drop(rooms);
        let mut rooms = self.rooms.write();
        let (generation, used_at) = (rooms.generation, self.options.clock.now());
        let new = || LoadedRoom { generation, room: Room::new(self.options.timings), position: 0, used_at };
        rooms.by_event.entry(event).or_insert_with(|| Arc::new(Mutex::new(new()))).clone()
    }

    /// Runs an operation on a room and waits until its effects are durable.
    async fn call<T>(
        &self,
        event: EventId,
        settings: &EventSettings,
        act: impl FnOnce(&mut Room, Timestamp) -> (T, Option<Change>),
    ) -> Result<T, Error> {
        self.writer.check()?;
        let loaded = self.room(event);
        let (answer, generation, position) = {
            let mut loaded = loaded.lock();
            let now = self.options.clock.now();
            loaded.used_at = now;
            loaded.room.configure(settings, now);
            let (answer, change) = act(&mut loaded.room, now);
            self.submit(event, &mut loaded, change)?;
            (answer, loaded.generation, loaded.position)
        };
        drop(loaded);
        self.writer.wait_until_durable(generation, position).await?;
        Ok(answer)
    }

    fn submit(&self, event: EventId, loaded: &mut LoadedRoom, change: Option<Change>) -> Result<(), Error> {
        let (records, has_moved) = loaded.room.take_records();
        if records.is_empty() && !has_moved {
            return Ok(());
        }
        let changes = change.into_iter().chain(has_moved.then_some(Change::Moved { event }));
        loaded.position = self.writer.submit(loaded.generation, event, records, changes)?;
        Ok(())
    }

    fn view(&self, event: EventId, user: &UserId, state: &UserState) -> View {
        View::new(&self.options.keys, &self.options.timings, event, user, state)
    }
}

#[async_trait]
impl WaitingRoom for InProcess {
    async fn join(&self, event: EventId, settings: &EventSettings, user: &UserId) -> Result<Joined, Error> {
        let (state, new) = self.call(event, settings, |room, now| (room.join(user, now), None)).await?;
        Ok(Joined { view: self.view(event, user, &state), new })
    }

    async fn poll(
        &self,
        event: EventId,
        settings: &EventSettings,
        user: &UserId,
    ) -> Result<Result<View, Refusal>, Error> {
        let state = self.call(event, settings, |room, now| (room.poll(user, now), None)).await?;
        Ok(state.map(|state| self.view(event, user, &state)).ok_or(Refusal::NotInQueue))
    }

    async fn enter(
        &self,
        event: EventId,
        settings: &EventSettings,
        user: &UserId,
    ) -> Result<Result<Entered, Refusal>, Error> {
        let id = (self.options.ids)();
        let outcome = self.call(event, settings, |room, now| {
            let outcome = room.enter(user, id, now);
            let change = match &outcome {
                EnterOutcome::Entered { first: true, state } => {
                    Some(Change::Admitted { event, user: user.clone(), at: state.at })
                }
                _ => None,
            };
            (outcome, change)
        });
        Ok(match outcome.await? {
            EnterOutcome::Entered { state, first } => match state.standing {
                Standing::Entered(admission) => {
                    Ok(Entered { entry: Entry::sign(&self.options.keys, event, user, admission), first })
                }
                standing => unreachable!("an entered user has the state {standing:?}"),
            },
            EnterOutcome::NotYet(state) => Err(Refusal::NotYourTurn(self.view(event, user, &state))),
            EnterOutcome::NotInQueue => Err(Refusal::NotInQueue),
        })
    }

    async fn leave(&self, event: EventId, settings: &EventSettings, user: &UserId) -> Result<bool, Error> {
        self.call(event, settings, |room, now| (room.leave(user, now), None)).await
    }

    async fn give_back(&self, event: EventId, settings: &EventSettings, user: &UserId) -> Result<bool, Error> {
        self.call(event, settings, |room, now| (room.give_back(user, now), None)).await
    }

    async fn entry(&self, event: EventId, settings: &EventSettings, user: &UserId) -> Result<Option<Entry>, Error> {
        let admission = self.call(event, settings, |room, now| (room.entry(user, now), None)).await?;
        Ok(admission.map(|admission| Entry::sign(&self.options.keys, event, user, admission)))
    }

    async fn configure(&self, event: EventId, settings: &EventSettings) -> Result<(), Error> {
        self.call(event, settings, |_, _| ((), None)).await
    }

    async fn stats(&self, event: EventId, settings: &EventSettings) -> Result<Stats, Error> {
        self.call(event, settings, |room, now| (room.stats(now), None)).await
    }

    async fn tidy(&self) -> Result<(), Error> {
        self.writer.check()?;
        let rooms: Vec<_> = {
            let rooms = self.rooms.read();
            rooms.by_event.iter().map(|(event, loaded)| (*event, loaded.clone())).collect()
        };
        for (event, loaded) in rooms {
            let mut loaded = loaded.lock();
            loaded.room.advance(self.options.clock.now());
            self.submit(event, &mut loaded, None)?;
        }
        let unused_since = self.options.clock.now() - EVICT_AFTER;
        let mut rooms = self.rooms.write();
        // A strong count of one excludes other users of the room: a clone needs the lock held here. Once all records
        // are durable, a new room may begin with the same numbers.
        rooms.by_event.retain(|_, loaded| {
            Arc::strong_count(loaded) > 1 || {
                let loaded = loaded.lock();
                let is_evictable = loaded.used_at < unused_since && loaded.room.is_discardable();
                !(is_evictable && self.writer.is_durable(loaded.position))
            }
        });
        Ok(())
    }

    fn check(&self) -> Result<(), Error> {
        self.writer.check()
    }

    fn keys(&self) -> &Keys {
        &self.options.keys
    }

    fn subscribe(&self) -> broadcast::Receiver<Change> {
        self.writer.subscribe()
    }
}

fn rebuild(generation: u64, timings: Timings, rows: Vec<Row>, now: Timestamp) -> Rooms {
    let mut rooms = Rooms { generation, by_event: HashMap::new() };
    let mut rows = rows.into_iter().peekable();
    while let Some(event) = rows.peek().map(|row| row.event) {
        let of_event = std::iter::from_fn(|| rows.next_if(|row| row.event == event));
        let room = Room::restore(timings, of_event, now);
        rooms.by_event.insert(event, Arc::new(Mutex::new(LoadedRoom { generation, room, position: 0, used_at: now })));
    }
    rooms
}
