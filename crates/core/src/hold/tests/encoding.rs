//! Stored form of holds: every hold is read as it was written, and damaged lines are rejected.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::Index;

use super::*;
use crate::money::AMOUNT_MAX;
use crate::schema::codec;
use crate::schema::row::TableRow as _;
use crate::schema::value::{Value, ValueReader, Values};

/// Returns the stored values of a hold, its key first.
fn stored(hold: &Hold) -> Vec<Value<'static>> {
    let mut values = Values::default();
    Hold::put_key(&hold.id, &mut values);
    hold.put(&mut values);
    values.0.into_iter().map(Value::into_owned).collect()
}

/// Reads a hold; `None` if a value is not valid.
fn read(values: Vec<Value<'_>>) -> Option<Hold> {
    let mut reader = ValueReader::new(values);
    let id = Hold::take_key(&mut reader)?;
    let hold = Hold::take(&id, &mut reader, Vec::new())?;
    assert!(reader.is_empty(), "all values are read");
    Some(hold)
}

pub(super) fn assert_round_trip(hold: &Hold) {
    assert_eq!(read(stored(hold)).as_ref(), Some(hold));
}

/// Returns the encoded lines of a stored hold. Without metadata they are its only binary value.
fn lines_of<'a>(values: &'a mut [Value<'static>]) -> &'a mut Vec<u8> {
    let bytes = values.iter_mut().find_map(|value| match value {
        Value::Bytes(bytes) => Some(bytes.to_mut()),
        _ => None,
    });
    bytes.expect("lines are stored")
}

fn text() -> impl Strategy<Value = Arc<str>> {
    prop_oneof![Just(""), Just("A1"), Just("Coffee beans, 200 g"), Just("에티오피아 예가체프 G1"), Just("\0\n\"'✓")]
        .prop_map(Arc::from)
}

fn amount() -> impl Strategy<Value = i64> {
    prop_oneof![Just(0), Just(AMOUNT_MAX), 0..=AMOUNT_MAX]
}

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![Just(1), Just(crate::id::ID_MAX), 1..=crate::id::ID_MAX]
}

/// Moments of the clock and of ends, in milliseconds.
fn moment() -> impl Strategy<Value = Timestamp> {
    prop_oneof![Just(0), Just(i64::MAX), 0..4_000_000_000_000_i64].prop_map(Timestamp::from_millis)
}

fn hold_id() -> impl Strategy<Value = HoldId> {
    (moment(), any::<[u8; 10]>()).prop_map(|(moment, random)| HoldId::new(moment, random))
}

fn items() -> impl Strategy<Value = Item> {
    let hyphenated = any::<[u8; 16]>().prop_map(|bytes| ClientHoldKey::Uuid(Uuid::from_bytes(bytes)));
    let ulid_key = Just(ClientHoldKey::parse("01ARZ3NDEKTSV4RRFFQ69G5FAV").unwrap());
    let dates = (-20_000..60_000_i32, 1..=90_i32);
    let stay = (number(), dates, option::of(prop_oneof![hyphenated, ulid_key])).prop_map(
        |(id, (from, nights), client_key)| {
            let dates = StayDates { check_in: day(from), check_out: day(from + nights) };
            Item::Stay(StayItem { quantity: 1, room_type: RoomTypeId::new(id).unwrap(), dates, client_key })
        },
    );
    let stock = (number(), number(), text(), text(), 1..=u32::MAX, amount()).prop_map(
        |(reservation, option, product_name, option_code, quantity, unit_price)| {
            Item::Stock(StockItem {
                reservation: InventoryReservationId::new(reservation).unwrap(),
                option: ProductOptionId::new(option).unwrap(),
                product_name,
                option_code,
                quantity,
                unit_price,
            })
        },
    );
    let seat = (1..=100_000_u32, text(), option::of(text()), amount());
    let seats = (1..=1_000_u64, vec(seat, 1..4)).prop_map(|(event, seats)| {
        let event = EventId::new(event).unwrap();
        let seat =
            |(position, label, section, price)| ReservedSeat { seat: event.seat(position), label, section, price };
        Item::Seats(SeatsItem { event, seats: seats.into_iter().map(seat).collect() })
    });
    let start = (0..30_000_u32, 0..1_440_u32).prop_map(|(day, minute)| SlotStart::from_minutes(day * 1_440 + minute));
    let slot = (start.prop_filter_map("no start", |start| start), any::<u16>(), amount());
    let slots = (number(), vec(slot, 1..4)).prop_map(|(room, slots)| {
        let slot = |(start, minutes, price)| LockedSlot { start, minutes, price };
        Item::Slots(SlotsItem { room: RoomId::new(room).unwrap(), slots: slots.into_iter().map(slot).collect() })
    });
    prop_oneof![stay, stock, seats, slots]
}

fn lines() -> impl Strategy<Value = Arc<[Line]>> {
    let state = prop_oneof![
        Just(LineState::Held),
        Just(LineState::Released),
        number().prop_map(|record| LineState::Confirmed { record }),
        number().prop_map(|record| LineState::Cancelled { record }),
    ];
    let line = (any::<u16>(), state, amount(), items());
    vec(line.prop_map(|(index, state, price, item)| Line { index, state, price, item }), 0..6).prop_map(Arc::from)
}

fn extras() -> impl Strategy<Value = Option<Arc<Extras>>> {
    (option::of(text()), vec((text(), text()), 0..3)).prop_map(|(reference, metadata)| {
        (reference.is_some() || !metadata.is_empty()).then(|| Arc::new(Extras { refund: None, reference, metadata }))
    })
}

fn holds() -> impl Strategy<Value = Hold> {
    let origin = prop_oneof![
        Just(Origin::Stay),
        Just(Origin::Cart),
        Just(Origin::Seats),
        Just(Origin::Lock),
        Just(Origin::Claim),
        Just(Origin::System),
    ];
    let state = prop_oneof![
        Just(HoldState::Held),
        Just(HoldState::Prepared),
        Just(HoldState::Confirmed),
        Just(HoldState::Cancelled),
        hold_id().prop_map(|by| HoldState::Replaced { by }),
    ];
    let terms = (hold_id(), number(), origin, moment(), moment(), option::of(moment()));
    let counters = (0..=i32::MAX as u32, any::<u8>(), 0..=i32::MAX as u32);
    (terms, state, counters, lines(), extras()).prop_map(|(terms, state, counters, lines, extras)| Hold {
        id: terms.0,
        owner: user(terms.1),
        origin: terms.2,
        created_at: terms.3,
        expires_at: terms.4,
        pay_by: terms.5,
        state,
        version: counters.0,
        extensions: counters.1,
        attempt: Attempt(counters.2),
        currency: Currency::KRW,
        lines,
        extras,
    })
}

/// Damage of encoded bytes.
#[derive(Clone, Debug)]
enum Damage {
    Set(Index, u8),
    Insert(Index, u8),
    Remove(Index),
    Cut(Index),
    /// Replaces one of the encoded values.
    Value(Index, Value<'static>),
    RemoveValue(Index),
    SwapValues(Index, Index),
}

fn damages() -> impl Strategy<Value = Vec<Damage>> {
    let index = any::<Index>;
    let byte = || prop_oneof![0..12_u8, any::<u8>()];
    let value = prop_oneof![
        Just(Value::Null),
        any::<i64>().prop_map(Value::Int),
        (-2..70_000_i64).prop_map(Value::Int),
        text().prop_map(|text| Value::Text(text.to_string().into())),
        Just(Value::Bytes(vec![1, 2].into())),
        (-20_000..60_000_i32).prop_map(|days| Value::Date(day(days))),
        Just(Value::Date(Date::MIN)),
        Just(Value::Date(Date::MAX)),
        Just(Value::Uuid(Uuid::nil())),
    ];
    let damage = prop_oneof![
        1 => (index(), byte()).prop_map(|(at, byte)| Damage::Set(at, byte)),
        1 => (index(), byte()).prop_map(|(at, byte)| Damage::Insert(at, byte)),
        1 => index().prop_map(Damage::Remove),
        1 => index().prop_map(Damage::Cut),
        3 => (index(), value).prop_map(|(at, value)| Damage::Value(at, value)),
        1 => index().prop_map(Damage::RemoveValue),
        1 => (index(), index()).prop_map(|(one, other)| Damage::SwapValues(one, other)),
    ];
    vec(damage, 1..4)
}

impl Damage {
    fn apply(&self, bytes: &mut Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        let count = bytes.len();
        match self {
            Self::Set(at, byte) => bytes[at.index(count)] = *byte,
            Self::Insert(at, byte) => bytes.insert(at.index(count), *byte),
            Self::Remove(at) => _ = bytes.remove(at.index(count)),
            Self::Cut(at) => bytes.truncate(at.index(count)),
            Self::Value(..) | Self::RemoveValue(_) | Self::SwapValues(..) => {
                let damaged = codec::decode(bytes).map(|(version, mut values)| {
                    self.apply_to_values(&mut values);
                    codec::encode(version, &values)
                });
                *bytes = damaged.unwrap_or_default();
            }
        }
    }

    fn apply_to_values(&self, values: &mut Vec<Value<'_>>) {
        if values.is_empty() {
            return;
        }
        let count = values.len();
        match self {
            Self::Value(at, value) => values[at.index(count)] = value.clone(),
            Self::RemoveValue(at) => _ = values.remove(at.index(count)),
            Self::SwapValues(one, other) => values.swap(one.index(count), other.index(count)),
            Self::Set(..) | Self::Insert(..) | Self::Remove(_) | Self::Cut(_) => unreachable!("bytes are damaged"),
        }
    }
}

proptest! {
    #![proptest_config(config(512))]

    #[test]
    fn hold_in_any_state_round_trips(hold in holds()) {
        assert_round_trip(&hold);
    }

    #[test]
    fn damaged_lines_never_panic(hold in holds(), damages in damages()) {
        let mut values = stored(&Hold { extras: None, ..hold.clone() });
        let bytes = lines_of(&mut values);
        for damage in &damages {
            damage.apply(bytes);
        }
        if let Some(found) = read(values) {
            assert_round_trip(&found);
        }
    }

    #[test]
    fn hostile_lines_never_panic(hold in holds(), bytes in vec(prop_oneof![0..12_u8, any::<u8>()], 0..40)) {
        let mut values = stored(&Hold { extras: None, ..hold });
        *lines_of(&mut values) = bytes;
        if let Some(found) = read(values) {
            assert_round_trip(&found);
        }
    }

    #[test]
    fn damaged_values_never_panic(hold in holds(), damages in damages()) {
        let mut values = stored(&hold);
        let of_values = |damage: &&Damage| {
            matches!(damage, Damage::Value(..) | Damage::RemoveValue(_) | Damage::SwapValues(..))
        };
        damages.iter().filter(of_values).for_each(|damage| damage.apply_to_values(&mut values));
        let mut reader = ValueReader::new(values);
        if let Some(found) = Hold::take_key(&mut reader).and_then(|id| Hold::take(&id, &mut reader, Vec::new())) {
            assert_round_trip(&found);
        }
    }
}

#[test]
fn every_prefix_of_lines_is_rejected() {
    let mut market = Market::new(9);
    let (origin, claims) = every_type().pop().unwrap();
    let values = stored(&market.hold(origin, &claims));
    let length = lines_of(&mut values.clone()).len();
    let mut accepted = 0;
    for cut in 0..length {
        let mut values = values.clone();
        lines_of(&mut values).truncate(cut);
        accepted += usize::from(read(values).is_some());
    }
    assert_eq!(accepted, claims.len(), "only whole lines are read");
}
