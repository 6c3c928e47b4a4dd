//! Rooms in the memory of the one server there is. Whatever happens in a room is written down before anybody is told, also
//! indirectly: an answer waits for all that had happened in its room before. Polls of waiters change nothing that is
//! written, so as a rule they do not wait.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use async_trait::async_trait;
use holdfast_core::Timestamp;
use holdfast_core::id::UserId;
use holdfast_core::time::Span;
use holdfast_engine::Clock;
use tokio::sync::broadcast;

use crate::journal::{Journal, Row};
use crate::room::{Room, Tried};
use crate::settings::{EventId, EventSettings, Timings};
use crate::token::Keys;
use crate::view::{Entry, Sight, Standing, View};
use crate::waiting_room::{Change, Entered, Error, Joined, Refusal, Stats, WaitingRoom};
use crate::writer::Writer;

/// An empty room nobody has asked about for so long is forgotten, and with it how new the settings were that it was shown. No
/// caller still has stale ones by then.
const FORGOTTEN_AFTER: Span = Span::from_secs(600);

/// Gives sixteen random bytes: the id of an entry.
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
    by_event: HashMap<EventId, Arc<Mutex<Kept>>>,
}

/// A room, and how far it has to be written before anybody may be told what is in it.
#[derive(Debug)]
struct Kept {
    generation: u64,
    room: Room,
    position: u64,
    called_at: Timestamp,
}

impl InProcess {
    /// Makes the rooms as the journal has them.
    pub async fn open(journal: impl Journal, options: Options) -> Result<Self, Error> {
        let rooms: Arc<RwLock<Rooms>> = Arc::default();
        let rebuild = {
            let (rooms, timings, clock) = (rooms.clone(), options.timings, options.clock.clone());
            move |generation, rows| {
                let rebuilt = rebuild(generation, timings, rows, clock.now());
                *rooms.write().unwrap_or_else(PoisonError::into_inner) = rebuilt;
            }
        };
        let writer = Writer::start(Box::new(journal), Box::new(rebuild)).await?;
        Ok(Self { options, rooms, writer })
    }

    fn room(&self, event: EventId) -> Arc<Mutex<Kept>> {
        let rooms = self.rooms.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(room) = rooms.by_event.get(&event) {
            return room.clone();
        }
        drop(rooms);
        let mut rooms = self.rooms.write().unwrap_or_else(PoisonError::into_inner);
        let (generation, called_at) = (rooms.generation, self.options.clock.now());
        let new = || Kept { generation, room: Room::new(self.options.timings), position: 0, called_at };
        rooms.by_event.entry(event).or_insert_with(|| Arc::new(Mutex::new(new()))).clone()
    }

    /// Does something in a room and waits until it is written.
    async fn call<T>(
        &self,
        event: EventId,
        settings: &EventSettings,
        act: impl FnOnce(&mut Room, Timestamp) -> (T, Option<Change>),
    ) -> Result<T, Error> {
        self.writer.check()?;
        let kept = self.room(event);
        let (answer, generation, position) = {
            let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            let now = self.options.clock.now();
            kept.called_at = now;
            kept.room.configure(settings, now);
            let (answer, change) = act(&mut kept.room, now);
            self.submit(event, &mut kept, change)?;
            (answer, kept.generation, kept.position)
        };
        drop(kept);
        self.writer.safe(generation, position).await?;
        Ok(answer)
    }

    fn submit(&self, event: EventId, kept: &mut Kept, change: Option<Change>) -> Result<(), Error> {
        let (records, has_moved) = kept.room.take_records();
        if records.is_empty() && !has_moved {
            return Ok(());
        }
        let changes = change.into_iter().chain(has_moved.then_some(Change::Moved { event }));
        kept.position = self.writer.submit(kept.generation, event, records, changes)?;
        Ok(())
    }

    fn view(&self, event: EventId, user: UserId, sight: &Sight) -> View {
        View::new(&self.options.keys, &self.options.timings, event, user, sight)
    }
}

#[async_trait]
impl WaitingRoom for InProcess {
    async fn join(&self, event: EventId, settings: &EventSettings, user: UserId) -> Result<Joined, Error> {
        let (sight, new) = self.call(event, settings, |room, now| (room.join(user, now), None)).await?;
        Ok(Joined { view: self.view(event, user, &sight), new })
    }

    async fn poll(
        &self,
        event: EventId,
        settings: &EventSettings,
        user: UserId,
    ) -> Result<Result<View, Refusal>, Error> {
        let sight = self.call(event, settings, |room, now| (room.poll(user, now), None)).await?;
        Ok(sight.map(|sight| self.view(event, user, &sight)).ok_or(Refusal::NotInQueue))
    }

    async fn enter(
        &self,
        event: EventId,
        settings: &EventSettings,
        user: UserId,
    ) -> Result<Result<Entered, Refusal>, Error> {
        let id = (self.options.ids)();
        let tried = self.call(event, settings, |room, now| {
            let tried = room.enter(user, id, now);
            let change = match &tried {
                Tried::Entered { first: true, sight } => Some(Change::Admitted { event, user, at: sight.at }),
                _ => None,
            };
            (tried, change)
        });
        Ok(match tried.await? {
            Tried::Entered { sight, first } => match sight.standing {
                Standing::Entered(admission) => {
                    Ok(Entered { entry: Entry::sign(&self.options.keys, event, user, admission), first })
                }
                standing => unreachable!("entered, and yet {standing:?}"),
            },
            Tried::NotYet(sight) => Err(Refusal::NotYourTurn(self.view(event, user, &sight))),
            Tried::NotInQueue => Err(Refusal::NotInQueue),
        })
    }

    async fn leave(&self, event: EventId, settings: &EventSettings, user: UserId) -> Result<bool, Error> {
        self.call(event, settings, |room, now| (room.leave(user, now), None)).await
    }

    async fn give_back(&self, event: EventId, settings: &EventSettings, user: UserId) -> Result<bool, Error> {
        self.call(event, settings, |room, now| (room.give_back(user, now), None)).await
    }

    async fn entry(&self, event: EventId, settings: &EventSettings, user: UserId) -> Result<Option<Entry>, Error> {
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
            let rooms = self.rooms.read().unwrap_or_else(PoisonError::into_inner);
            rooms.by_event.iter().map(|(event, kept)| (*event, kept.clone())).collect()
        };
        for (event, kept) in rooms {
            let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.room.advance(self.options.clock.now());
            self.submit(event, &mut kept, None)?;
        }
        let forgotten_before = self.options.clock.now() - FORGOTTEN_AFTER;
        let mut rooms = self.rooms.write().unwrap_or_else(PoisonError::into_inner);
        // Nobody else has it in hand, nor can take it: that needs the lock we hold. Once all is written, a new room may
        // begin with the same numbers.
        rooms.by_event.retain(|_, kept| {
            Arc::strong_count(kept) > 1 || {
                let kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                let is_forgotten = kept.called_at < forgotten_before && kept.room.is_forgettable();
                !(is_forgotten && self.writer.is_safe(kept.position))
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
        rooms.by_event.insert(event, Arc::new(Mutex::new(Kept { generation, room, position: 0, called_at: now })));
    }
    rooms
}
