//! Binary encoding of a sequence of values.
//!
//! An encoding is one byte with a version, which the caller chooses, and then each value as a byte with its tag and
//! its content. Integers are varints of seven bits per byte, lowest first, with the sign in the lowest bit (zigzag). Text
//! and bytes follow their length; a sequence within a sequence is encoded as bytes. Each sequence has exactly one
//! encoding. Decoding copies nothing, and returns `None` for bytes that no encoder has written.

use jiff::civil::Date;
use uuid::Uuid;

use crate::schema::value::Value;
use crate::time::Timestamp;

const NULL: u8 = 0;
const FALSE: u8 = 1;
const TRUE: u8 = 2;
const INT: u8 = 3;
const TEXT: u8 = 4;
const BYTES: u8 = 5;
const DATE: u8 = 6;
const MOMENT: u8 = 7;
const UUID: u8 = 8;

/// Encodes values under a version.
#[must_use]
pub fn encode(version: u8, values: &[Value<'_>]) -> Vec<u8> {
    let mut out = Vec::new();
    encode_into(version, values, &mut out);
    out
}

/// Appends the encoding of values under a version.
pub fn encode_into(version: u8, values: &[Value<'_>], out: &mut Vec<u8>) {
    out.push(version);
    for value in values {
        put(value, out);
    }
}

fn put(value: &Value<'_>, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.push(NULL),
        Value::Bool(false) => out.push(FALSE),
        Value::Bool(true) => out.push(TRUE),
        Value::Int(number) => put_number(INT, *number, out),
        Value::Text(text) => put_bytes(TEXT, text.as_bytes(), out),
        Value::Bytes(bytes) => put_bytes(BYTES, bytes, out),
        Value::Date(date) => put_number(DATE, packed(*date), out),
        Value::Moment(moment) => put_number(MOMENT, moment.as_millis(), out),
        Value::Uuid(uuid) => {
            out.push(UUID);
            out.extend_from_slice(uuid.as_bytes());
        }
    }
}

fn put_number(tag: u8, number: i64, out: &mut Vec<u8>) {
    out.push(tag);
    put_varint(((number << 1) ^ (number >> 63)).cast_unsigned(), out);
}

fn put_bytes(tag: u8, bytes: &[u8], out: &mut Vec<u8>) {
    out.push(tag);
    put_varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

fn put_varint(mut number: u64, out: &mut Vec<u8>) {
    while number > 0x7f {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Packs a date into a number: five bits of day, four of month, then the year.
fn packed(date: Date) -> i64 {
    i64::from(date.year()) << 9 | i64::from(date.month()) << 5 | i64::from(date.day())
}

fn unpacked(number: i64) -> Option<Date> {
    let (year, month, day) = (number >> 9, number >> 5 & 0xf, number & 0x1f);
    Date::new(year.try_into().ok()?, month.try_into().ok()?, day.try_into().ok()?).ok()
}

/// Decodes the version and all values.
#[must_use]
pub fn decode(encoded: &[u8]) -> Option<(u8, Vec<Value<'_>>)> {
    let (version, mut rest) = encoded.split_first()?;
    let mut values = Vec::new();
    while !rest.is_empty() {
        values.push(take(&mut rest)?);
    }
    Some((*version, values))
}

fn take<'a>(rest: &mut &'a [u8]) -> Option<Value<'a>> {
    Some(match take_byte(rest)? {
        NULL => Value::Null,
        FALSE => Value::Bool(false),
        TRUE => Value::Bool(true),
        INT => Value::Int(take_number(rest)?),
        TEXT => Value::Text(std::str::from_utf8(take_bytes(rest)?).ok()?.into()),
        BYTES => Value::Bytes(take_bytes(rest)?.into()),
        DATE => Value::Date(unpacked(take_number(rest)?)?),
        MOMENT => {
            let millis = take_number(rest)?;
            let moment = Timestamp::from_millis(millis);
            Value::Moment(Some(moment).filter(|moment| moment.as_millis() == millis)?)
        }
        UUID => {
            let (uuid, after) = rest.split_first_chunk()?;
            *rest = after;
            Value::Uuid(Uuid::from_bytes(*uuid))
        }
        _ => return None,
    })
}

fn take_byte(rest: &mut &[u8]) -> Option<u8> {
    let (byte, after) = rest.split_first()?;
    *rest = after;
    Some(*byte)
}

fn take_number(rest: &mut &[u8]) -> Option<i64> {
    let number = take_varint(rest)?;
    Some((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
}

fn take_bytes<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = usize::try_from(take_varint(rest)?).ok()?;
    let (bytes, after) = rest.split_at_checked(length)?;
    *rest = after;
    Some(bytes)
}

/// Rejects varints that are longer than necessary, or exceed 64 bits.
fn take_varint(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let byte = take_byte(rest)?;
        let bits = u64::from(byte & 0x7f);
        if bits << shift >> shift != bits || (byte == 0 && shift > 0) {
            return None;
        }
        number |= bits << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;
    use crate::testing::Dice;

    fn assert_round_trip(values: &[Value<'_>]) {
        let encoded = encode(7, values);
        assert_eq!(decode(&encoded).as_ref(), Some(&(7, values.to_vec())), "{encoded:?}");
    }

    #[test]
    fn values_of_every_type_round_trip() {
        assert_round_trip(&[]);
        assert_round_trip(&[
            Value::Null,
            Value::Bool(false),
            Value::Bool(true),
            Value::Text("".into()),
            Value::Text("a hold\nof 2 seats ✓".into()),
            Value::Bytes(Vec::new().into()),
            Value::Bytes(encode(1, &[Value::Int(5), Value::Bytes(encode(2, &[Value::Null]).into())]).into()),
            Value::Uuid(Uuid::from_u128(u128::MAX / 3)),
        ]);
        for number in [0, 1, -1, 63, 64, -64, -65, 1 << 53, i64::MAX, i64::MIN] {
            assert_round_trip(&[Value::Int(number)]);
        }
        for date in [Date::MIN, date(-1, 12, 31), date(0, 1, 1), date(2026, 2, 28), Date::MAX] {
            assert_round_trip(&[Value::Date(date)]);
        }
        for millis in [0, 1, 1_762_237_800_000, i64::MAX] {
            assert_round_trip(&[Value::Moment(Timestamp::from_millis(millis))]);
        }
    }

    #[test]
    fn encoding_is_stable() {
        let values = [
            Value::Null,
            Value::Bool(true),
            Value::Int(-300),
            Value::Text("ab".into()),
            Value::Bytes(vec![255].into()),
            Value::Date(date(2026, 2, 3)),
            Value::Moment(Timestamp::from_millis(1_000)),
            Value::Uuid(Uuid::from_u128(1)),
        ];
        let expected = b"\x01\x00\x02\x03\xd7\x04\x04\x02ab\x05\x01\xff\x06\x86\xd1\x7e\x07\xd0\x0f\x08\
            \0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01";
        assert_eq!(encode(1, &values), expected);
    }

    #[test]
    fn random_values_round_trip() {
        let mut dice = Dice::new(1);
        for _ in 0..2_000 {
            let count = dice.roll(12) as usize;
            let values: Vec<_> = (0..count).map(|_| random_value(&mut dice)).collect();
            assert_round_trip(&values);
        }
    }

    fn random_value(dice: &mut Dice) -> Value<'static> {
        // Of any magnitude.
        let mut number = || (dice.roll(u64::MAX) >> dice.roll(64)).cast_signed();
        match number() & 7 {
            0 => Value::Null,
            1 => Value::Bool(number() & 1 == 0),
            2 => Value::Int(number()),
            3 => Value::Int(!number()),
            4 => Value::Text("é".repeat((number() & 0xff) as usize).into()),
            5 => Value::Bytes((0..number() & 0xff).map(|_| number() as u8).collect::<Vec<_>>().into()),
            6 => Value::Moment(Timestamp::from_millis(number())),
            _ => Value::Uuid(Uuid::from_u64_pair(number().cast_unsigned(), number().cast_unsigned())),
        }
    }

    /// Every byte sequence that decodes is the encoding of its values, so damage cannot go unnoticed by growing or
    /// shrinking a row.
    #[test]
    fn hostile_bytes_decode_to_one_meaning() {
        let mut dice = Dice::new(2);
        let mut decoded = 0;
        for _ in 0..20_000 {
            let count = dice.roll(10) as usize;
            let mut bytes: Vec<u8> = (0..count).map(|_| dice.roll(12) as u8).collect();
            if let Some(byte) = bytes.last_mut().filter(|_| dice.roll(2) == 0) {
                *byte = dice.roll(256) as u8;
            }
            if let Some((version, values)) = decode(&bytes) {
                assert_eq!(encode(version, &values), bytes);
                decoded += 1;
            }
        }
        assert!(decoded > 1_000, "{decoded} decoded");
    }

    #[test]
    fn damaged_bytes_are_rejected() {
        assert_eq!(decode(&[]), None, "no version");
        assert_eq!(decode(&[1, 9]), None, "unknown tag");
        assert_eq!(decode(&[1, INT]), None, "no number");
        assert_eq!(decode(&[1, INT, 0x80]), None, "unfinished number");
        assert_eq!(decode(&[1, INT, 0x80, 0]), None, "number of two bytes instead of one");
        assert_eq!(decode(&[1, INT, 255, 255, 255, 255, 255, 255, 255, 255, 255, 2]), None, "more than 64 bits");
        assert_eq!(decode(&[1, TEXT, 3, b'a', b'b']), None, "text is cut off");
        assert_eq!(decode(&[1, TEXT, 1, 0xff]), None, "not UTF-8");
        assert_eq!(decode(&[1, BYTES, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1]), None, "length of 2^64 - 1");
        assert_eq!(decode(&[1, DATE, 0]), None, "month 0");
        assert_eq!(decode(&[1, MOMENT, 1]), None, "before 1970");
        assert_eq!(decode(&[1, UUID, 0, 0]), None, "UUID is cut off");
    }

    #[test]
    fn every_prefix_of_a_value_is_rejected() {
        let encoded = encode(1, &[Value::Text("a text".into())]);
        for length in 2..encoded.len() {
            assert_eq!(decode(&encoded[..length]), None, "{length} bytes");
        }
    }
}
