//! Encoding of rows in Redis: words readable in a shell, after the version. A value that no rule could have written is
//! damage.

use std::fmt::Write as _;
use std::str::FromStr;

use holdfast_core::Timestamp;
use holdfast_core::calendar::LiveLock;
use holdfast_core::command::Attempt;
use holdfast_core::hold::{Claim, Hold};
use holdfast_core::id::{HoldId, UserId};
use holdfast_core::idempotency::IdempotencyRecord;
use holdfast_core::schema::{Column, Record, Type, Value, ValueReader, Values};
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
        let (hold, owner) = (words.hold()?, UserId::new(words.parse()?)?);
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

/// Encodes a hold as its values, one word each: number of confirm attempts, then its columns. Each child row follows on
/// a line of its own.
impl<C: Claim> Stored for Hold<C>
where
    Self: Record<Key = HoldId>,
{
    fn encode(&self, out: &mut Vec<u8>) {
        let (mut values, mut lines) = (Values::default(), Vec::new());
        Self::put_key(&self.id, &mut values);
        self.put(&self.id, &mut values);
        self.put_child_rows(&mut lines);
        let mut text = self.attempts.0.to_string();
        for value in &values.0 {
            text.push(' ');
            write_cell(value, &mut text);
        }
        for line in &lines {
            text.push('\n');
            for (number, value) in line.0.iter().enumerate() {
                if number > 0 {
                    text.push(' ');
                }
                write_cell(value, &mut text);
            }
        }
        out.extend_from_slice(text.as_bytes());
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let mut lines = std::str::from_utf8(bytes).ok()?.split('\n');
        let (attempts, values) = lines.next()?.split_once(' ')?;
        let values = read_cells(Self::SCHEMA.columns(), values)?;
        let columns = Self::SCHEMA.child_rows.as_ref().map_or(&[][..], |child_rows| child_rows.columns);
        let lines: Option<Vec<_>> =
            lines.map(|line| read_cells(columns.iter().copied(), line).map(ValueReader::new)).collect();
        let (_, hold) = Self::take(&mut ValueReader::new(values), lines?)?;
        Some(Self { attempts: Attempt(attempts.parse().ok()?), ..hold })
    }
}

fn write_cell(value: &Value<'_>, out: &mut String) {
    match value {
        Value::Null => out.push('-'),
        Value::Bool(value) => write!(out, "{value}").expect("writing to a string cannot fail"),
        Value::Int(number) => write!(out, "{number}").expect("writing to a string cannot fail"),
        Value::Date(date) => write!(out, "{date}").expect("writing to a string cannot fail"),
        Value::Moment(moment) => write!(out, "{}", moment.as_millis()).expect("writing to a string cannot fail"),
        Value::Uuid(uuid) => write!(out, "{uuid}").expect("writing to a string cannot fail"),
        Value::Bytes(bytes) => {
            out.push('x');
            for byte in &**bytes {
                write!(out, "{byte:02x}").expect("writing to a string cannot fail");
            }
        }
        Value::Text(text) => {
            // Quoted, so that no text is mistaken for NULL, and with separators escaped.
            out.push('"');
            for char in text.chars() {
                match char {
                    ' ' => out.push_str("\\s"),
                    '\n' => out.push_str("\\n"),
                    '\\' => out.push_str("\\\\"),
                    other => out.push(other),
                }
            }
        }
    }
}

fn read_cells(columns: impl Iterator<Item = Column>, text: &str) -> Option<Vec<Value<'_>>> {
    let mut words = text.split(' ');
    let values: Option<Vec<_>> = columns.map(|column| read_cell(column.kind, words.next()?)).collect();
    if words.next().is_none() { values } else { None }
}

fn read_cell(kind: Type, word: &str) -> Option<Value<'_>> {
    if word == "-" {
        return Some(Value::Null);
    }
    Some(match kind {
        Type::Bool => Value::Bool(word.parse().ok()?),
        Type::Int | Type::Big => Value::Int(word.parse().ok()?),
        Type::Bytes => {
            let (pairs, []) = word.strip_prefix('x')?.as_bytes().as_chunks::<2>() else { return None };
            let byte = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
            Value::Bytes(pairs.iter().map(byte).collect::<Option<Vec<u8>>>()?.into())
        }
        Type::Date => Value::Date(word.parse().ok()?),
        Type::Moment => Value::Moment(Timestamp::from_millis(word.parse().ok()?)),
        Type::Uuid => Value::Uuid(Uuid::try_parse(word).ok()?),
        Type::Text => {
            let text = word.strip_prefix('"')?;
            if !text.contains('\\') {
                return Some(Value::Text(text.into()));
            }
            let (mut plain, mut chars) = (String::with_capacity(text.len()), text.chars());
            while let Some(char) = chars.next() {
                plain.push(match char {
                    '\\' => match chars.next()? {
                        's' => ' ',
                        'n' => '\n',
                        '\\' => '\\',
                        _ => return None,
                    },
                    other => other,
                });
            }
            Value::Text(plain.into())
        }
    })
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
    use holdfast_core::hold::HoldState;
    use holdfast_core::money::Currency;
    use holdfast_core::stay::{ClientHoldKey, RoomTypeId, StayClaim, StayDates, StayHold};

    use super::*;

    fn assert_round_trip<T: Stored + PartialEq + std::fmt::Debug>(row: &T) {
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
    fn rows_round_trip() {
        let by = HoldId::new(Timestamp::from_millis(5), [1; 10]);
        let states = [HoldState::Held, HoldState::Prepared, HoldState::Cancelled, HoldState::Replaced { by }];
        for state in states.into_iter().chain([HoldState::Confirmed { record: 77 }]) {
            assert_round_trip(&hold(state));
        }
        assert_round_trip(&Tally::from_lines(2, [(1_800_000_000, 3), (1_800_000_001, 1)]).expect("lines in order"));
        assert_round_trip(&Tally::from_lines(1, []).expect("prepared only"));
        assert_round_trip(&CapacityFence { capacity: 4, ends_at: Timestamp::from_millis(99) });
        let owner = UserId::new(7).expect("a number");
        for expires_at in [None, Some(Timestamp::from_millis(99))] {
            assert_round_trip(&SeatPointer { hold: by, owner, expires_at });
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
    fn texts_round_trip() {
        for text in ["", "-", "two words", "a\\b\\s", "line\nline", "\"quoted\"", "에티오피아 예가체프"] {
            let mut word = String::new();
            write_cell(&Value::Text(text.into()), &mut word);
            assert!(!word.contains([' ', '\n']), "{word}");
            assert_eq!(read_cell(Type::Text, &word), Some(Value::Text(text.into())));
        }
    }

    #[test]
    fn invalid_values_are_damage() {
        for text in ["", "x", "0 5:1 5:1", "0 6:1 5:1", "0 5:0", "0 5", "-1"] {
            assert_eq!(Tally::decode(text.as_bytes()), None, "{text}");
        }
        assert_eq!(StayHold::decode(b"HELD"), None);
        assert_eq!(IdempotencyRecord::decode(b"5 short"), None);
    }
}
