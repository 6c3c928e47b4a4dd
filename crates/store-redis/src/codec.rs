//! What rows look like in Redis: words that can be read in a shell, after the version. A value that no rule could have
//! written is damage.

use std::fmt::Write as _;
use std::str::FromStr;

use holdfast_core::Timestamp;
use holdfast_core::command::Attempt;
use holdfast_core::hold::HoldState;
use holdfast_core::id::{HoldId, UserId};
use holdfast_core::money::Currency;
use holdfast_core::receipt::Receipt;
use holdfast_core::stay::{ClientHoldKey, LiveHold, RoomTypeId, StayClaim, StayDates, StayHold};
use holdfast_core::unit::{Limit, Tally};
use uuid::Uuid;

/// A row as it lies in Redis.
pub(crate) trait Stored: Sized {
    fn encode(&self, out: &mut Vec<u8>);

    fn decode(bytes: &[u8]) -> Option<Self>;
}

impl Stored for Tally {
    fn encode(&self, out: &mut Vec<u8>) {
        let mut text = self.pinned().to_string();
        for (second, quantity) in self.lines() {
            write!(text, " {second}:{quantity}").expect("text takes text");
        }
        out.extend_from_slice(text.as_bytes());
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let mut words = std::str::from_utf8(bytes).ok()?.split(' ');
        let pinned = words.next()?.parse().ok()?;
        let lines: Option<Vec<(i64, u32)>> = words
            .map(|word| {
                let (second, quantity) = word.split_once(':')?;
                Some((second.parse().ok()?, quantity.parse().ok()?))
            })
            .collect();
        Self::from_lines(pinned, lines?)
    }
}

impl Stored for Limit {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(format!("{} {}", self.capacity, self.ends_at.as_millis()).as_bytes());
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let mut words = Words::of(bytes)?;
        Some(Self { capacity: words.parse()?, ends_at: words.time()? })
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

impl Stored for StayHold {
    fn encode(&self, out: &mut Vec<u8>) {
        let state = match self.state {
            HoldState::Held => "HELD -".to_owned(),
            HoldState::Confirming => "CONFIRMING -".to_owned(),
            HoldState::Confirmed { record } => format!("CONFIRMED {record}"),
            HoldState::Cancelled => "CANCELLED -".to_owned(),
            HoldState::Replaced { by } => format!("REPLACED {by}"),
        };
        let Self { id, owner, created_at, expires_at, attempts, claim, .. } = self;
        let StayDates { check_in, check_out } = claim.dates;
        let text = format!(
            "{id} {owner} {} {} {state} {} {} {check_in} {check_out} {} {} {}",
            created_at.as_millis(),
            expires_at.as_millis(),
            attempts.0,
            claim.room_type,
            claim.client_key,
            claim.price,
            claim.currency.as_str(),
        );
        out.extend_from_slice(text.as_bytes());
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let mut words = Words::of(bytes)?;
        let (id, owner) = (words.hold()?, UserId::new(words.parse()?)?);
        let (created_at, expires_at) = (words.time()?, words.time()?);
        let (state, detail) = (words.next()?, words.next()?);
        let state = match state {
            "HELD" => HoldState::Held,
            "CONFIRMING" => HoldState::Confirming,
            "CONFIRMED" => HoldState::Confirmed { record: detail.parse().ok()? },
            "CANCELLED" => HoldState::Cancelled,
            "REPLACED" => HoldState::Replaced { by: HoldId(Uuid::try_parse(detail).ok()?) },
            _ => return None,
        };
        let (attempts, room_type) = (Attempt(words.parse()?), RoomTypeId::new(words.parse()?)?);
        let dates = StayDates { check_in: words.parse()?, check_out: words.parse()? };
        let client_key = ClientHoldKey::parse(words.next()?)?;
        let (price, currency) = (words.parse()?, Currency::parse(words.next()?)?);
        let claim = StayClaim { room_type, dates, client_key, price, currency };
        (dates.check_in < dates.check_out).then_some(Self { id, owner, created_at, expires_at, state, attempts, claim })
    }
}

impl Stored for Receipt {
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
    use super::*;

    fn comes_back<T: Stored + PartialEq + std::fmt::Debug>(row: &T) {
        let mut bytes = Vec::new();
        row.encode(&mut bytes);
        assert_eq!(T::decode(&bytes).as_ref(), Some(row), "{}", String::from_utf8_lossy(&bytes));
    }

    fn hold(state: HoldState) -> StayHold {
        let at = Timestamp::from_millis(1_800_000_000_123);
        StayHold {
            id: HoldId::new(at, [7; 10]),
            owner: UserId::new(5).expect("a number"),
            created_at: at,
            expires_at: at,
            state,
            attempts: Attempt(3),
            claim: StayClaim {
                room_type: RoomTypeId::new(9).expect("a number"),
                dates: StayDates { check_in: jiff::civil::date(2027, 3, 1), check_out: jiff::civil::date(2027, 3, 4) },
                client_key: ClientHoldKey::parse("01ARZ3NDEKTSV4RRFFQ69G5FAV").expect("a ULID"),
                price: 300_000,
                currency: Currency::KRW,
            },
        }
    }

    #[test]
    fn what_is_written_comes_back() {
        let by = HoldId::new(Timestamp::from_millis(5), [1; 10]);
        let states = [HoldState::Held, HoldState::Confirming, HoldState::Cancelled, HoldState::Replaced { by }];
        for state in states.into_iter().chain([HoldState::Confirmed { record: 77 }]) {
            comes_back(&hold(state));
        }
        comes_back(&Tally::from_lines(2, [(1_800_000_000, 3), (1_800_000_001, 1)]).expect("lines in order"));
        comes_back(&Tally::from_lines(1, []).expect("pinned only"));
        comes_back(&Limit { capacity: 4, ends_at: Timestamp::from_millis(99) });
        comes_back(&LiveHold { hold: by, expires_at: Timestamp::from_millis(99) });
        let receipt = Receipt {
            fingerprint: [0x20; 32],
            response: b"any bytes \0 at all".to_vec(),
            expires_at: Timestamp::from_millis(1),
        };
        comes_back(&receipt);
    }

    #[test]
    fn what_no_rule_wrote_is_damage() {
        for text in ["", "x", "0 5:1 5:1", "0 6:1 5:1", "0 5:0", "0 5", "-1"] {
            assert_eq!(Tally::decode(text.as_bytes()), None, "{text}");
        }
        assert_eq!(StayHold::decode(b"HELD"), None);
        assert_eq!(Receipt::decode(b"5 short"), None);
    }
}
