//! Identifiers. Numbers are positive and below 2^53, so that every JSON parser represents them exactly.

use std::fmt::Write as _;
use std::sync::Arc;

use uuid::Uuid;

use crate::time::Timestamp;

/// Largest number of an id.
pub const ID_MAX: u64 = (1 << 53) - 1;

macro_rules! number_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u64);

        impl $name {
            /// `None` unless `1 <= number < 2^53`.
            pub fn new(number: u64) -> Option<Self> {
                (1..=$crate::id::ID_MAX).contains(&number).then_some(Self(number))
            }

            pub fn get(self) -> u64 {
                self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}
pub(crate) use number_id;

/// Maximum number of characters of a user who is text.
pub const USER_CHARS_MAX: usize = 128;

/// A user: an integer from 1 to [`ID_MAX`], or a text of 1 to [`USER_CHARS_MAX`] visible ASCII characters.
///
/// Digits of an integer up to [`ID_MAX`] always mean that integer, so the canonical text of a user ([`Display`]) is
/// unambiguous: stores keep it, and [`parse_text`] reads it back. Texts that read as any other decimal number are no
/// users. The order is that of all servers, which lock rows in it. Cheap to clone; integers need no memory of their own.
///
/// [`Display`]: std::fmt::Display
/// [`parse_text`]: Self::parse_text
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UserId(Form);

/// Form in which a user was given.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Form {
    Number(u64),
    Text(Arc<str>),
}

impl UserId {
    /// Owner of holds that belong to no caller. It is outside of the range of users, so no caller is this user.
    pub const SYSTEM: Self = Self(Form::Number(0));

    /// `None` unless `1 <= number < 2^53`.
    pub fn new(number: u64) -> Option<Self> {
        (1..=ID_MAX).contains(&number).then_some(Self(Form::Number(number)))
    }

    /// Parses a user in a header, a query or a token, where digits mean the integer.
    pub fn parse_text(text: &str) -> Option<Self> {
        match Kind::of(text) {
            Kind::Number(number) => Self::new(number),
            Kind::Text => Some(Self(Form::Text(text.into()))),
            Kind::Invalid => None,
        }
    }

    /// Parses a user in a JSON string. An integer must be a JSON number there, so its digits are no user.
    pub fn parse_string(text: &Arc<str>) -> Option<Self> {
        matches!(Kind::of(text), Kind::Text).then(|| Self(Form::Text(text.clone())))
    }

    /// Parses the canonical text of a user, or of [`SYSTEM`](Self::SYSTEM).
    pub fn parse_stored(text: &str) -> Option<Self> {
        if text == "0" { Some(Self::SYSTEM) } else { Self::parse_text(text) }
    }

    /// Returns the number of a user who is an integer.
    pub fn number(&self) -> Option<u64> {
        match &self.0 {
            Form::Number(number) => Some(*number),
            Form::Text(_) => None,
        }
    }

    /// Returns the text of a user who is text.
    pub fn text(&self) -> Option<&Arc<str>> {
        match &self.0 {
            Form::Number(_) => None,
            Form::Text(text) => Some(text),
        }
    }

    /// Returns the canonical text as a part of a key whose parts are separated by colons: `:`, `{`, `}` and `%` are
    /// percent-encoded.
    pub fn key_part(&self) -> UserKeyPart<'_> {
        UserKeyPart(self)
    }
}

impl std::fmt::Display for UserId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            Form::Number(number) => number.fmt(f),
            Form::Text(text) => text.fmt(f),
        }
    }
}

impl std::fmt::Debug for UserId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            Form::Number(number) => write!(f, "UserId({number})"),
            Form::Text(text) => write!(f, "UserId({text:?})"),
        }
    }
}

/// A user as a part of a key, see [`UserId::key_part`].
#[derive(Clone, Copy, Debug)]
pub struct UserKeyPart<'a>(&'a UserId);

impl std::fmt::Display for UserKeyPart<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = match &self.0.0 {
            Form::Number(number) => return number.fmt(f),
            Form::Text(text) => text,
        };
        for char in text.chars() {
            match char {
                ':' | '{' | '}' | '%' => write!(f, "%{:02X}", u32::from(char))?,
                other => f.write_char(other)?,
            }
        }
        Ok(())
    }
}

/// Meaning of a text as a user.
enum Kind {
    /// Digits of an integer of at most [`ID_MAX`], without leading zeros.
    Number(u64),
    Text,
    /// Of the wrong length, with a character that is not visible ASCII, or a decimal number in another spelling.
    Invalid,
}

impl Kind {
    fn of(text: &str) -> Self {
        let is_visible = text.bytes().all(|byte| byte.is_ascii_graphic());
        if text.is_empty() || text.len() > USER_CHARS_MAX || !is_visible {
            return Self::Invalid;
        }
        if !is_decimal_number(text) {
            return Self::Text;
        }
        if !text.bytes().all(|byte| byte.is_ascii_digit()) || text.starts_with('0') {
            return Self::Invalid;
        }
        match text.parse() {
            Ok(number) if number <= ID_MAX => Self::Number(number),
            // Subjects of some identity providers have 21 digits.
            Ok(_) | Err(_) => Self::Text,
        }
    }
}

/// Whether the text is an optional sign, digits, and at most one point before, between or after them.
fn is_decimal_number(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let mut digits = whole.bytes().chain(fraction.bytes()).peekable();
    digits.peek().is_some() && digits.all(|byte| byte.is_ascii_digit())
}

/// Identifier of a hold: a UUID of version 7. It begins with the time of creation, so ids sort by age and stores find
/// live holds by range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HoldId(pub Uuid);

impl HoldId {
    pub fn new(made_at: Timestamp, random: [u8; 10]) -> Self {
        Self(uuid::Builder::from_unix_timestamp_millis(made_at.as_millis() as u64, &random).into_uuid())
    }

    /// Returns the time of creation.
    pub fn made_at(self) -> Timestamp {
        Timestamp::from_millis((self.0.as_u128() >> 80) as i64)
    }

    /// Returns the smallest id of a hold created at `moment` or later.
    pub fn earliest_at(moment: Timestamp) -> Self {
        Self::new(moment, [0; 10])
    }
}

impl std::fmt::Display for HoldId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.hyphenated().fmt(f)
    }
}

/// A source of numbers; one per kind of numbered record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Sequence {
    RoomType,
    StayReservation,
    User,
    Product,
    ProductOption,
    InventoryReservation,
    Order,
    StockSale,
    Room,
    RoomReservation,
    Generation,
    TicketEvent,
    SeatReservation,
    Course,
    TeeSlot,
    Booking,
    Notification,
    Webhook,
    WebhookDelivery,
}

/// Most numbers that a command may draw from one sequence per unit of its weight: one per line of the largest cart,
/// whose size is unknown when the weight is computed.
pub const NUMBERS_PER_WEIGHT_MAX: usize = 100;

impl Sequence {
    /// Returns the most numbers that a command draws per unit of its weight: most commands draw one, some as many as a
    /// cart has lines.
    pub fn numbers_per_weight_max(self) -> usize {
        match self {
            Self::InventoryReservation | Self::ProductOption | Self::WebhookDelivery => NUMBERS_PER_WEIGHT_MAX,
            Self::RoomType
            | Self::StayReservation
            | Self::User
            | Self::Product
            | Self::Order
            | Self::StockSale
            | Self::Room
            | Self::RoomReservation
            | Self::Generation
            | Self::TicketEvent
            | Self::SeatReservation
            | Self::Course
            | Self::TeeSlot
            | Self::Booking
            | Self::Notification
            | Self::Webhook => 1,
        }
    }
}

/// Numbers reserved for this working set: `next..=last`. Drawing one is a write like any other, so a rejected command
/// uses up none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdRange {
    pub next: u64,
    pub last: u64,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(user: &str) -> UserId {
        UserId::parse_string(&user.into()).expect("a user who is text")
    }

    #[test]
    fn digits_are_an_integer_up_to_the_largest_id() {
        for (digits, number) in [("1", 1), ("42", 42), ("9007199254740991", ID_MAX)] {
            let user = UserId::parse_text(digits).unwrap();
            assert_eq!((user.number(), user.text(), UserId::new(number).as_ref()), (Some(number), None, Some(&user)));
            assert_eq!(UserId::parse_string(&digits.into()), None, "JSON has numbers for {digits}");
        }
        assert_eq!([UserId::new(0), UserId::new(ID_MAX + 1)], [None, None]);
    }

    #[test]
    fn digits_beyond_the_largest_id_are_text() {
        let longest = "9".repeat(USER_CHARS_MAX);
        for digits in ["9007199254740992", "18446744073709551616", "115839284729384726153", &longest] {
            let user = UserId::parse_text(digits).unwrap();
            assert_eq!((user.number(), user.to_string()), (None, digits.to_owned()));
            assert_eq!(user, text(digits));
        }
    }

    #[test]
    fn visible_ascii_is_text() {
        let longest = "x".repeat(USER_CHARS_MAX);
        let uuid = "550e8400-e29b-41d4-a716-446655440000";
        let texts = [uuid, "auth0|5f7c8ec7", "a:{b}%c", "1e5", "1.2.3", "0x10", "+", "-", ".", "1-2", "!~", &longest];
        for user in texts {
            assert_eq!(UserId::parse_text(user), Some(text(user)), "{user}");
            assert_eq!(text(user).text().map(|text| &**text), Some(user));
        }
    }

    #[test]
    fn other_texts_are_no_users() {
        let too_long = "x".repeat(USER_CHARS_MAX + 1);
        let numbers = ["0", "00", "007", "-1", "+1", "-0", "1.5", "1.", ".5", "-1.5", "+.5", "012345678901234567890"];
        let invisible = ["", " ", "a b", " a", "a\n", "\u{7f}", "\0", "é", "사용자", "a\u{200b}", &too_long];
        for user in numbers.into_iter().chain(invisible) {
            assert_eq!(UserId::parse_text(user), None, "{user:?}");
            assert_eq!(UserId::parse_string(&user.into()), None, "{user:?}");
        }
    }

    #[test]
    fn system_is_no_caller() {
        assert_eq!(UserId::parse_text(&UserId::SYSTEM.to_string()), None);
        assert_eq!(UserId::parse_stored(&UserId::SYSTEM.to_string()), Some(UserId::SYSTEM));
    }

    #[test]
    fn key_parts_have_no_separators() {
        assert_eq!(text("a:{b}%c").key_part().to_string(), "a%3A%7Bb%7D%25c");
        assert_eq!(text("auth0|5f").key_part().to_string(), "auth0|5f");
        assert_eq!(UserId::new(42).unwrap().key_part().to_string(), "42");
    }

    #[test]
    fn user_is_as_small_as_a_text() {
        assert_eq!(size_of::<UserId>(), size_of::<Arc<str>>());
    }

    proptest! {
        #[test]
        fn stored_users_round_trip(texts in prop::collection::vec("[!-~]{1,128}|[0-9+.-]{1,24}", 2)) {
            let users: Vec<UserId> = texts.iter().filter_map(|text| UserId::parse_text(text)).collect();
            for user in &users {
                prop_assert_eq!(UserId::parse_stored(&user.to_string()), Some(user.clone()));
                prop_assert!(texts.contains(&user.to_string()), "a user is shown in the form given");
                prop_assert_eq!(user.number().is_some(), user.text().is_none());
                if let Some(text) = user.text() {
                    prop_assert_eq!(UserId::parse_string(text), Some(user.clone()));
                }
            }
            if let [first, second] = &users[..] {
                let parts = [first, second].map(|user| user.key_part().to_string());
                prop_assert_eq!(first == second, parts[0] == parts[1]);
                let has_separator = parts.concat().contains([':', '{', '}']);
                prop_assert!(!has_separator);
            }
        }

        #[test]
        fn integers_round_trip(number in 1..=ID_MAX) {
            let user = UserId::new(number).unwrap();
            prop_assert_eq!(UserId::parse_text(&user.to_string()), Some(user));
        }

        /// Any text is a user, a number in another spelling, or not visible.
        #[test]
        fn any_text_is_parsed(text in "\\PC{0,140}") {
            let is_visible = (1..=USER_CHARS_MAX).contains(&text.len()) && text.bytes().all(|it| it.is_ascii_graphic());
            let is_number = text.parse::<f64>().is_ok() && !text.contains(|it: char| it.is_ascii_alphabetic());
            if let Some(user) = UserId::parse_text(&text) {
                prop_assert!(is_visible && user.to_string() == text);
            } else {
                prop_assert!(!is_visible || is_number, "{}", text);
            }
        }
    }
}
