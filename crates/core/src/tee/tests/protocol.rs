//! The saga as a simulated protocol: three services with their own rows, and a bus between them that loses, repeats,
//! delays and, if allowed, reorders messages. Services crash at any point, purge their inbox, and have their own
//! clocks. Under all of these, no slot is oversold, and at rest every slot counts exactly the players of its confirmed
//! bookings.

use std::collections::BTreeMap;

use super::*;
use crate::testing::Dice;
use crate::time::Span;

const SLOTS: u64 = 3;
const SLOT_PLAYERS: u32 = 6;
const USERS: u64 = 4;
const STEPS: usize = 160;

/// Guarantees of the bus.
#[derive(Clone, Copy, Debug)]
struct Guarantees {
    /// Messages of one ordering key arrive in order.
    is_ordered: bool,
    /// Some messages are lost for good, but never a `slot.release`, `slot.changed` or `slot.closed`.
    is_lossy: bool,
}

/// Three services and the bus between them.
struct Net {
    dice: Dice,
    guarantees: Guarantees,
    course: World,
    booking: World,
    notify: World,
    /// Committed, not sent yet; in order.
    outbox: Vec<Message>,
    /// Sent, not acknowledged yet; in order.
    bus: Vec<Message>,
    /// Every message ever sent.
    sent: Vec<Message>,
    slots: Vec<TeeSlotId>,
    bookings: Vec<BookingId>,
    repeated: usize,
}

impl Net {
    fn new(seed: u64, guarantees: Guarantees) -> Self {
        let mut net = Self {
            dice: Dice::new(seed),
            guarantees,
            course: World::new(),
            booking: World::new(),
            notify: World::new(),
            outbox: Vec::new(),
            bus: Vec::new(),
            sent: Vec::new(),
            slots: Vec::new(),
            bookings: Vec::new(),
            repeated: 0,
        };
        let course = net.course.run(&CreateCourse { name: "한강".into(), time_zone: None }).unwrap().id;
        let times = (0..SLOTS as u16).map(|number| StartTime::from_minutes(number).unwrap());
        let slots = times.map(|start| SlotDraft { start, max_players: SLOT_PLAYERS, ..draft() }).collect();
        let slots = net.course.run(&CreateSlots { course, slots }).unwrap();
        net.slots = slots.iter().map(|slot| slot.id).collect();
        net.collect();
        net.drain();
        net
    }

    fn world(&mut self, service: Service) -> &mut World {
        match service {
            Service::Course => &mut self.course,
            Service::Booking => &mut self.booking,
            Service::Notify => &mut self.notify,
        }
    }

    fn choose<T: Copy>(dice: &mut Dice, from: &[T]) -> Option<T> {
        (!from.is_empty()).then(|| from[dice.roll(from.len() as u64) as usize])
    }

    /// Moves the committed messages of all services to the outbox.
    fn collect(&mut self) {
        for service in [Service::Course, Service::Booking, Service::Notify] {
            let events = std::mem::take(&mut self.world(service).events);
            for event in events {
                let Event::Tee(message) = event else { panic!("tee times emit messages only") };
                assert_eq!(message.subject().producer(), service, "each service emits its own messages");
                self.outbox.push(message);
            }
        }
    }

    fn step(&mut self) {
        match self.dice.roll(32) {
            0..=4 => self.book(),
            5..=6 => self.cancel(),
            7 => self.attend(),
            8 => self.close(),
            9 => self.time_out(),
            10 => self.wait(),
            11 => self.purge(),
            12 if !self.guarantees.is_ordered => self.repeat(),
            12..=20 => self.relay(),
            _ => self.deliver(),
        }
        self.collect();
    }

    fn book(&mut self) {
        let slot = Self::choose(&mut self.dice, &self.slots).unwrap();
        let (user, players) = (user(1 + self.dice.roll(USERS)), 1 + self.dice.roll(4) as u32);
        let key = key(&self.dice.roll(40).to_string());
        // A key may be reused, for the same or another request.
        if let Ok(created) = self.booking.run(&CreateBooking { user, key, slot, players })
            && created.is_new
        {
            self.bookings.push(created.booking.id);
        }
    }

    fn cancel(&mut self) {
        let Some(id) = Self::choose(&mut self.dice, &self.bookings) else { return };
        let user = user(1 + self.dice.roll(USERS));
        let by = if self.dice.roll(2) == 0 { By::User(user) } else { By::Admin };
        self.booking.run(&CancelBooking { id, by, reason: None }).ok();
    }

    fn attend(&mut self) {
        let Some(id) = Self::choose(&mut self.dice, &self.bookings) else { return };
        match self.dice.roll(2) {
            0 => drop(self.booking.run(&CompleteBooking { id })),
            _ => drop(self.booking.run(&NoShowBooking { id })),
        }
    }

    fn close(&mut self) {
        let slot = Self::choose(&mut self.dice, &self.slots).unwrap();
        match self.dice.roll(4) {
            0 => drop(self.course.run(&CloseSlot { slot, cancel_bookings: false }).unwrap()),
            1 => drop(self.course.run(&CloseSlot { slot, cancel_bookings: true }).unwrap()),
            _ => drop(self.course.run(&ReopenSlot { slot }).unwrap()),
        }
    }

    fn time_out(&mut self) {
        let Some(id) = Self::choose(&mut self.dice, &self.bookings) else { return };
        self.booking.run(&TimeOutBooking { id }).unwrap();
    }

    fn wait(&mut self) {
        let service = Self::choose(&mut self.dice, Service::ALL).unwrap();
        let span = Span::from_secs([1, 10, 45][self.dice.roll(3) as usize]);
        self.world(service).wait(span);
    }

    fn purge(&mut self) {
        let service = Self::choose(&mut self.dice, Service::ALL).unwrap();
        purge_inbox(self.world(service));
    }

    /// Redelivers an old message.
    fn repeat(&mut self) {
        if !self.sent.is_empty() {
            let old = self.sent[self.dice.roll(self.sent.len() as u64) as usize].clone();
            self.bus.push(old);
        }
    }

    /// Sends a message. A crash before the position is recorded sends it again.
    fn relay(&mut self) {
        if self.outbox.is_empty() {
            return;
        }
        let index = self.dice.roll(self.outbox.len() as u64) as usize;
        let index = self.first_of_key(&self.outbox, index);
        let is_losable = !self.outbox[index].subject().is_always_retried();
        if self.guarantees.is_lossy && is_losable && self.dice.roll(8) == 0 {
            self.outbox.remove(index);
            return;
        }
        let is_recorded = self.dice.roll(6) > 0;
        let message = if is_recorded { self.outbox.remove(index) } else { self.outbox[index].clone() };
        self.sent.push(message.clone());
        self.bus.push(message);
    }

    /// Delivers a message, or drops it for redelivery; the service may crash before or after its commit.
    fn deliver(&mut self) {
        if self.bus.is_empty() {
            return;
        }
        let index = self.dice.roll(self.bus.len() as u64) as usize;
        let index = self.first_of_key(&self.bus, index);
        let message = self.bus[index].clone();
        match self.dice.roll(10) {
            0 => {}
            1 => self.crash(message),
            2 => drop(self.receive(message)),
            _ => {
                if self.receive(message) != Handled::More {
                    self.bus.remove(index);
                }
            }
        }
    }

    fn crash(&mut self, message: Message) {
        let Some(service) = message.subject().consumer() else { return };
        let receive = Receive::new(message);
        self.world(service).ask(|rows, at| receive.decide(rows, at)).unwrap();
    }

    fn receive(&mut self, message: Message) -> Handled {
        let Some(service) = message.subject().consumer() else { return Handled::Done };
        let handled = self.world(service).run(&Receive::new(message)).unwrap();
        self.repeated += usize::from(handled == Handled::Repeated);
        handled
    }

    /// If order is guaranteed, the earliest message of the same key goes first.
    fn first_of_key(&self, messages: &[Message], index: usize) -> usize {
        if !self.guarantees.is_ordered {
            return index;
        }
        let of = |message: &Message| (message.subject().producer(), message.ordering_key());
        let key = of(&messages[index]);
        messages.iter().position(|message| of(message) == key).unwrap()
    }

    /// Delivers all messages in flight, in some order.
    fn drain(&mut self) {
        while !self.outbox.is_empty() || !self.bus.is_empty() {
            self.relay();
            self.deliver();
            self.collect();
        }
    }

    /// Delivers all messages, and times out bookings without reply.
    fn come_to_rest(&mut self) {
        self.drain();
        self.booking.wait(Span::from_secs(60));
        for id in self.bookings.clone() {
            self.booking.run(&TimeOutBooking { id }).unwrap();
        }
        self.collect();
        self.drain();
    }

    /// Returns an auditor with all rows of all services.
    fn audit(&self) -> TeeAudit {
        let mut audit = TeeAudit::new();
        for world in [&self.course, &self.booking, &self.notify] {
            pass_records(world, &mut audit);
        }
        audit
    }

    fn slots(&self) -> BTreeMap<TeeSlotId, TeeSlot> {
        self.course.memory.tee.slots.rows().map(|(id, row)| (*id, row.clone())).collect()
    }

    fn states(&self) -> BTreeMap<BookingId, BookingState> {
        self.booking.memory.tee.bookings.rows().map(|(id, row)| (*id, row.state.clone())).collect()
    }

    fn inspect(&self) {
        assert_eq!(self.audit().finish(), Vec::<String>::new());
        for world in [&self.course, &self.booking, &self.notify] {
            let tables = &world.memory.tee;
            let (course, booking) = (tables.slots.rows().count() > 0, tables.bookings.rows().count() > 0);
            let notify = tables.notifications.rows().count() > 0;
            assert!(
                u8::from(course) + u8::from(booking) + u8::from(notify) <= 1,
                "each service writes its own rows only"
            );
        }
    }

    fn inspect_at_rest(&self) {
        let mut audit = self.audit();
        audit.at_rest();
        assert_eq!(audit.finish(), Vec::<String>::new());
        let mut players: BTreeMap<TeeSlotId, u32> = BTreeMap::new();
        for (_, booking) in self.booking.memory.tee.bookings.rows() {
            assert_ne!(booking.status(), BookingStatus::Pending);
            if booking.status().has_places() {
                *players.entry(booking.slot).or_default() += booking.players;
            }
        }
        for (id, slot) in self.slots() {
            assert_eq!(
                slot.booked,
                players.get(&id).copied().unwrap_or_default(),
                "booked = Σ players of bookings with places"
            );
        }
    }
}

/// Runs one history from its seed.
fn run(seed: u64, guarantees: Guarantees) -> Net {
    let mut net = Net::new(seed, guarantees);
    for number in 0..STEPS {
        net.step();
        if number % 16 == 0 {
            net.inspect();
        }
    }
    net.come_to_rest();
    net.inspect_at_rest();
    net
}

/// Prints the seed of a failing history.
fn with_seed<T>(seed: u64, guarantees: Guarantees, test: impl FnOnce() -> T + std::panic::UnwindSafe) -> T {
    std::panic::catch_unwind(test).unwrap_or_else(|panic| {
        eprintln!("seed {seed}, {guarantees:?}");
        std::panic::resume_unwind(panic)
    })
}

fn run_many(guarantees: Guarantees, seeds: u64) -> BTreeMap<String, usize> {
    let mut outcomes = BTreeMap::new();
    for seed in 1..=seeds {
        let net = with_seed(seed, guarantees, || run(seed, guarantees));
        for (_, booking) in net.booking.memory.tee.bookings.rows() {
            let by = match booking.state {
                BookingState::Cancelled { by: By::System, .. } => " by the system",
                _ => "",
            };
            let reason = booking.failure_reason().map_or("", FailureReason::as_str);
            *outcomes.entry(format!("{}{by}{reason}", booking.status())).or_default() += 1;
        }
        *outcomes.entry("repeated".into()).or_default() += net.repeated;
    }
    outcomes
}

fn check_coverage(outcomes: &BTreeMap<String, usize>, expected: &[&str]) {
    for kind in expected {
        assert!(
            outcomes.get(*kind).is_some_and(|count| *count > 20),
            "histories reach {kind} often enough: {outcomes:?}"
        );
    }
}

const EXPECTED_OUTCOMES: [&str; 9] = [
    "CANCELLED",
    "CANCELLED by the system",
    "COMPLETED",
    "CONFIRMED",
    "FAILEDSAGA_TIMEOUT",
    "FAILEDSLOT_CLOSED",
    "FAILEDSLOT_FULL",
    "NO_SHOW",
    "repeated",
];

#[test]
fn saga_holds_on_ordered_bus() {
    let guarantees = Guarantees { is_ordered: true, is_lossy: false };
    check_coverage(&run_many(guarantees, 1_200), &EXPECTED_OUTCOMES);
}

#[test]
fn saga_holds_on_unordered_bus() {
    let guarantees = Guarantees { is_ordered: false, is_lossy: false };
    check_coverage(&run_many(guarantees, 1_200), &EXPECTED_OUTCOMES);
}

#[test]
fn saga_holds_on_lossy_bus() {
    for is_ordered in [false, true] {
        check_coverage(&run_many(Guarantees { is_ordered, is_lossy: true }, 500), &EXPECTED_OUTCOMES);
    }
}

#[test]
fn redelivery_without_inbox_changes_nothing() {
    for seed in 10_001..=10_400 {
        let guarantees = Guarantees { is_ordered: false, is_lossy: seed % 2 == 0 };
        with_seed(seed, guarantees, || {
            let mut net = run(seed, guarantees);
            let notified = |net: &Net| net.notify.memory.tee.notifications.rows().count();
            let before = (net.slots(), net.states(), notified(&net));
            for service in Service::ALL {
                purge_inbox(net.world(*service));
            }
            net.guarantees.is_lossy = false;
            net.bus.clone_from(&net.sent);
            net.come_to_rest();
            net.inspect_at_rest();
            assert_eq!((net.slots(), net.states(), notified(&net)), before);
        });
    }
}
