//! Encoding of rows in Redis: words readable in a shell, after the version. A value that no rule could have written is
//! damage.

use std::fmt::Write as _;
use std::str::FromStr;

use holdfast_core::Timestamp;
use holdfast_core::calendar::LiveLock;
use holdfast_core::hold::Hold;
use holdfast_core::id::{HoldId, UserId};
use holdfast_core::idempotency::IdempotencyRecord;
use holdfast_core::schema::{Record, ValueReader, Values, codec};
use holdfast_core::shop::LastHold;
use holdfast_core::stay::LiveHold;
use holdfast_core::ticket::SeatPointer;
use holdfast_core::unit::{CapacityFence, Tally};
use uuid::Uuid;

/// Row stored in Redis.
pub(crate) trait Stored: Sized {
    fn encode(&self, out: &mut Vec<u8>);

    fn decode(bytes: &[u8]) -> Option<Self>;
}

impl Stored for Tally {
    fn encode(&self, out: &mut Vec<u8>) {
        let mut text = self.prepared().to_string();
        for (second, quantity) in self.lines() {
            write!(text, " {second}:{quantity}").expect("writing to a string cannot fail");
        }
        out.extend_from_slice(text.as_bytes());
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let mut words = std::str::from_utf8(bytes).ok()?.split(' ');
        let prepared = words.next()?.parse().ok()?;
        let lines: Option<Vec<(i64, u32)>> = words
            .map(|word| {
                let (second, quantity) = word.split_once(':')?;
                Some((second.parse().ok()?, quantity.parse().ok()?))
            })
            .collect();
        Self::from_lines(prepared, lines?)
    }
}

impl Stored for CapacityFence {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(format!("{} {}", self.capacity, self.ends_at.as_millis()).as_bytes());
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let mut words = Words::of(bytes)?;
        Some(Self { capacity: words.parse()?, ends_at: words.time()? })
    }
}

impl Stored for LastHold {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(format!("{} {}", self.hold, self.kept_until.as_millis()).as_bytes());
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let mut words = Words::of(bytes)?;
        Some(Self { hold: words.hold()?, kept_until: words.time()? })
    }
}

impl Stored for LiveLock {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(format!("{} {}", self.hold, self.expires_at.as_millis()).as_bytes());
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let mut words = Words::of(bytes)?;
        Some(Self { hold: words.hold()?, expires_at: words.time()? })
    }
}

/// The end of a prepared hold is unknown.
impl Stored for SeatPointer {
    fn encode(&self, out: &mut Vec<u8>) {
        let expires_at = self.expires_at.map_or("-".to_owned(), |end| end.as_millis().to_string());
        out.extend_from_slice(format!("{} {} {expires_at}", self.hold, self.owner).as_bytes());
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let mut words = Words::of(bytes)?;
        let (hold, owner) = (words.hold()?, UserId::parse_stored(words.next()?)?);
        let expires_at = match words.next()? {
            "-" => None,
            millis => Some(Timestamp::from_millis(millis.parse().ok()?)),
        };
        Some(Self { hold, owner, expires_at })
    }
}

impl Stored for LiveHold {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(format!("{} {}", self.hold, self.expires_at.as_millis()).as_bytes());
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let mut words = Words::of(bytes)?;
        Some(Self { hold: words.hold()?, expires_at: words.time()? })
    }
}

/// Version of the encoding of holds.
const HOLD_VERSION: u8 = 1;

/// Encodes a hold as the values of its columns.
impl Stored for Hold {
    fn encode(&self, out: &mut Vec<u8>) {
        let mut values = Values::default();
        Self::put_key(&self.id, &mut values);
        self.put(&self.id, &mut values);
        codec::encode_into(HOLD_VERSION, &values.0, out);
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (version, values) = codec::decode(bytes)?;
        let mut values = ValueReader::new(values);
        let (_, hold) = Self::take(&mut values, Vec::new())?;
        (version == HOLD_VERSION && values.is_empty()).then_some(hold)
    }
}

impl Stored for IdempotencyRecord {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(format!("{} ", self.expires_at.as_millis()).as_bytes());
        out.extend_from_slice(&self.fingerprint);
        out.extend_from_slice(&self.response);
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let space = bytes.iter().position(|byte| *byte == b' ')?;
        let expires_at = Timestamp::from_millis(std::str::from_utf8(&bytes[..space]).ok()?.parse().ok()?);
        let (fingerprint, response) = bytes[space + 1..].split_first_chunk()?;
        Some(Self { fingerprint: *fingerprint, response: response.to_vec(), expires_at })
    }
}

struct Words<'a>(std::str::Split<'a, char>);

impl<'a> Words<'a> {
    fn of(bytes: &'a [u8]) -> Option<Self> {
        Some(Self(std::str::from_utf8(bytes).ok()?.split(' ')))
    }

    fn next(&mut self) -> Option<&'a str> {
        self.0.next()
    }

    fn parse<T: FromStr>(&mut self) -> Option<T> {
        self.next()?.parse().ok()
    }

    fn time(&mut self) -> Option<Timestamp> {
        self.parse().map(Timestamp::from_millis)
    }

    fn hold(&mut self) -> Option<HoldId> {
        Uuid::try_parse(self.next()?).ok().map(HoldId)
    }
}

#[cfg(test)]
mod tests {
    use holdfast_core::command::Attempt;
    use holdfast_core::hold::{HoldState, Item, Origin, Placement};
    use holdfast_core::money::Currency;
    use holdfast_core::stay::{ClientHoldKey, RoomTypeId, StayDates, StayItem};

    use super::*;

    fn assert_round_trip<T: Stored + PartialEq + std::fmt::Debug>(row: &T) {
        let mut bytes = Vec::new();
        row.encode(&mut bytes);
        assert_eq!(T::decode(&bytes).as_ref(), Some(row), "{}", String::from_utf8_lossy(&bytes));
    }

    fn hold(state: HoldState) -> Hold {
        let at = Timestamp::from_millis(1_800_000_000_123);
        let item = StayItem {
            room_type: RoomTypeId::new(9).expect("a number"),
            dates: StayDates { check_in: jiff::civil::date(2027, 3, 1), check_out: jiff::civil::date(2027, 3, 4) },
            client_key: ClientHoldKey::parse("01ARZ3NDEKTSV4RRFFQ69G5FAV"),
        };
        let placement = Placement {
            id: HoldId::new(at, [7; 10]),
            owner: UserId::new(5).expect("a number"),
            origin: Origin::Stay,
            created_at: at,
            expires_at: at,
            currency: Currency::KRW,
            lines: [(300_000, Item::Stay(item))],
        };
        Hold { state, attempt: Attempt(3), ..placement.into_hold() }
    }

    #[test]
    fn rows_round_trip() {
        let by = HoldId::new(Timestamp::from_millis(5), [1; 10]);
        let states = [HoldState::Held, HoldState::Prepared, HoldState::Cancelled, HoldState::Replaced { by }];
        for state in states.into_iter().chain([HoldState::Confirmed]) {
            assert_round_trip(&hold(state));
        }
        assert_round_trip(&Tally::from_lines(2, [(1_800_000_000, 3), (1_800_000_001, 1)]).expect("lines in order"));
        assert_round_trip(&Tally::from_lines(1, []).expect("prepared only"));
        assert_round_trip(&CapacityFence { capacity: 4, ends_at: Timestamp::from_millis(99) });
        let owner = UserId::parse_text("a:{b}%c").expect("a text");
        for expires_at in [None, Some(Timestamp::from_millis(99))] {
            assert_round_trip(&SeatPointer { hold: by, owner: owner.clone(), expires_at });
        }
        assert_round_trip(&LiveHold { hold: by, expires_at: Timestamp::from_millis(99) });
        let receipt = IdempotencyRecord {
            fingerprint: [0x20; 32],
            response: b"any bytes \0 at all".to_vec(),
            expires_at: Timestamp::from_millis(1),
        };
        assert_round_trip(&receipt);
    }

    #[test]
    fn invalid_values_are_damage() {
        for text in ["", "x", "0 5:1 5:1", "0 6:1 5:1", "0 5:0", "0 5", "-1"] {
            assert_eq!(Tally::decode(text.as_bytes()), None, "{text}");
        }
        assert_eq!(Hold::decode(b"HELD"), None);
        assert_eq!(IdempotencyRecord::decode(b"5 short"), None);
    }
}
