//! Deserialization of JSON bodies, with what serde alone does not tell.
//!
//! - Only JSON objects are accepted for structs. Serde alone also accepts an array, and assigns its elements to the fields by
//!   position, which no client intends.
//! - [`Notes`] keep which required field was missing, and the `userId` of the top-level object, known to the body's type or
//!   not.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::fmt;

use holdfast_api::ids::UserId;
use serde::Deserialize;
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, IntoDeserializer as _, MapAccess, SeqAccess, Unexpected,
    VariantAccess, Visitor,
};

/// Field of the top-level object that any body may have.
const USER_FIELD: &str = "userId";

/// Findings of one deserialization.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    missing: Cell<Option<&'static str>>,
    user: RefCell<NamedUser>,
}

/// User that a body names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum NamedUser {
    #[default]
    Absent,
    /// Not validated.
    Given(UserId),
    /// Neither a non-negative integer nor a string, or given twice.
    Invalid,
}

impl Notes {
    /// Required field whose absence made the deserialization fail.
    pub(crate) fn missing(&self) -> Option<&'static str> {
        self.missing.get()
    }

    pub(crate) fn user(&self) -> NamedUser {
        self.user.borrow().clone()
    }

    /// Converts the error of a type into that of the format, and keeps the name of a missing field.
    pub(crate) fn take<E: Error>(&self, error: Noted<E>) -> E {
        match error {
            Noted::Inner(error) => error,
            Noted::Missing(field) => {
                self.missing.set(Some(field));
                E::missing_field(field)
            }
        }
    }
}

/// Error of a deserialization that still has its kind.
#[derive(Debug)]
pub(crate) enum Noted<E> {
    Inner(E),
    Missing(&'static str),
}

impl<E: fmt::Display> fmt::Display for Noted<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inner(error) => error.fmt(f),
            Self::Missing(field) => write!(f, "missing field {field}"),
        }
    }
}

impl<E: std::error::Error> std::error::Error for Noted<E> {}

impl<E: Error> Error for Noted<E> {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::Inner(E::custom(message))
    }

    fn missing_field(field: &'static str) -> Self {
        Self::Missing(field)
    }
}

/// Position of a value in the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Position {
    Top,
    /// Value of the top-level `userId`.
    User,
    Inner,
}

/// Wrapper of a deserializer, visitor or access that applies the rules at any depth.
pub(crate) struct Objects<'n, T> {
    inner: T,
    notes: &'n Notes,
    position: Position,
    /// For a visitor: whether it builds a struct.
    is_struct: bool,
}

impl<'n, T> Objects<'n, T> {
    /// Wraps the deserializer of a whole body.
    pub(crate) fn in_(inner: T, notes: &'n Notes) -> Self {
        Self { inner, notes, position: Position::Top, is_struct: false }
    }

    fn inside(inner: T, notes: &'n Notes) -> Self {
        Self { inner, notes, position: Position::Inner, is_struct: false }
    }
}

#[derive(Deserialize)]
#[serde(transparent)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

macro_rules! read_any {
    ($($method:ident($($name:ident: $type:ty),*))+) => {
        $(fn $method<V: Visitor<'de>>(self, $($name: $type,)* visitor: V) -> Result<V::Value, Self::Error> {
            let visitor = Objects { inner: visitor, notes: self.notes, position: self.position, is_struct: false };
            self.inner.$method($($name,)* visitor).map_err(Noted::Inner)
        })+
    };
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Objects<'_, D> {
    type Error = Noted<D::Error>;

    read_any! {
        deserialize_any() deserialize_bool() deserialize_i8() deserialize_i16() deserialize_i32() deserialize_i64()
        deserialize_i128() deserialize_u8() deserialize_u16() deserialize_u32() deserialize_u64() deserialize_u128()
        deserialize_f32() deserialize_f64() deserialize_char() deserialize_str() deserialize_string() deserialize_bytes()
        deserialize_byte_buf() deserialize_option() deserialize_unit() deserialize_unit_struct(name: &'static str)
        deserialize_newtype_struct(name: &'static str) deserialize_seq() deserialize_tuple(len: usize)
        deserialize_tuple_struct(name: &'static str, len: usize) deserialize_map()
        deserialize_enum(name: &'static str, variants: &'static [&'static str]) deserialize_identifier()
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        let visitor = Objects { inner: visitor, notes: self.notes, position: self.position, is_struct: false };
        let ignored = match self.position {
            // A format may skip an ignored value without visiting it.
            Position::User => self.inner.deserialize_any(visitor),
            Position::Top | Position::Inner => self.inner.deserialize_ignored_any(visitor),
        };
        ignored.map_err(Noted::Inner)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        let visitor = Objects { inner: visitor, notes: self.notes, position: self.position, is_struct: true };
        self.inner.deserialize_struct(name, fields, visitor).map_err(Noted::Inner)
    }

    fn is_human_readable(&self) -> bool {
        self.inner.is_human_readable()
    }
}

macro_rules! visit_plain {
    ($($method:ident($type:ty))+) => {
        $(fn $method<E: Error>(self, value: $type) -> Result<V::Value, E> {
            self.note(NamedUser::Invalid);
            self.inner.$method(value)
        })+
    };
}

impl<V> Objects<'_, V> {
    /// Keeps the value at the position of the user. A second value is invalid.
    fn note(&self, user: NamedUser) {
        if self.position == Position::User {
            self.notes.user.replace(user);
        }
    }

    fn note_text(&self, text: &str) {
        if self.position == Position::User {
            self.note(NamedUser::Given(text.into()));
        }
    }
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Objects<'_, V> {
    type Value = V::Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.expecting(formatter)
    }

    visit_plain! {
        visit_bool(bool) visit_i8(i8) visit_i16(i16) visit_i32(i32) visit_i64(i64) visit_i128(i128) visit_u8(u8) visit_u16(u16)
        visit_u32(u32) visit_u128(u128) visit_f32(f32) visit_f64(f64) visit_char(char) visit_bytes(&[u8]) visit_borrowed_bytes(&'de [u8])
        visit_byte_buf(Vec<u8>)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<V::Value, E> {
        self.note(NamedUser::Given(value.into()));
        self.inner.visit_u64(value)
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<V::Value, E> {
        self.note_text(value);
        self.inner.visit_str(value)
    }

    fn visit_borrowed_str<E: Error>(self, value: &'de str) -> Result<V::Value, E> {
        self.note_text(value);
        self.inner.visit_borrowed_str(value)
    }

    fn visit_string<E: Error>(self, value: String) -> Result<V::Value, E> {
        self.note_text(&value);
        self.inner.visit_string(value)
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.note(NamedUser::Absent);
        self.inner.visit_none()
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.note(NamedUser::Absent);
        self.inner.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        let Self { inner, notes, position, .. } = self;
        inner
            .visit_some(Objects { inner: deserializer, notes, position, is_struct: false })
            .map_err(|it| notes.take(it))
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        let Self { inner, notes, position, .. } = self;
        let deserializer = Objects { inner: deserializer, notes, position, is_struct: false };
        inner.visit_newtype_struct(deserializer).map_err(|it| notes.take(it))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<V::Value, A::Error> {
        self.note(NamedUser::Invalid);
        if self.is_struct {
            return Err(A::Error::invalid_type(Unexpected::Seq, &"an object"));
        }
        self.inner.visit_seq(Objects::inside(list, self.notes)).map_err(|it| self.notes.take(it))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        self.note(NamedUser::Invalid);
        let Self { inner, notes, position, .. } = self;
        let position = if position == Position::Top { Position::Top } else { Position::Inner };
        inner.visit_map(Objects { inner: map, notes, position, is_struct: false }).map_err(|it| notes.take(it))
    }

    fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<V::Value, A::Error> {
        self.note(NamedUser::Invalid);
        self.inner.visit_enum(Objects::inside(data, self.notes)).map_err(|it| self.notes.take(it))
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Objects<'_, A> {
    type Error = Noted<A::Error>;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Self::Error> {
        self.inner.next_element_seed(Objects::inside(seed, self.notes)).map_err(Noted::Inner)
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

/// The position of the top-level map is `User` between the key `userId` and its value.
impl<'de, A: MapAccess<'de>> MapAccess<'de> for Objects<'_, A> {
    type Error = Noted<A::Error>;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Self::Error> {
        if self.position == Position::Inner {
            return self.inner.next_key_seed(seed).map_err(Noted::Inner);
        }
        let Some(Key(key)) = self.inner.next_key().map_err(Noted::Inner)? else { return Ok(None) };
        if key == USER_FIELD {
            self.position = Position::User;
        }
        seed.deserialize(key.into_deserializer()).map(Some).map_err(Noted::Inner)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Self::Error> {
        let is_user = self.position == Position::User;
        let is_second = is_user && *self.notes.user.borrow() != NamedUser::Absent;
        let position = if is_user { Position::User } else { Position::Inner };
        let seed = Objects { inner: seed, notes: self.notes, position, is_struct: false };
        let value = self.inner.next_value_seed(seed).map_err(Noted::Inner);
        if is_second {
            self.notes.user.replace(NamedUser::Invalid);
        }
        if is_user {
            self.position = Position::Top;
        }
        value
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

impl<'de, 'n, A: EnumAccess<'de>> EnumAccess<'de> for Objects<'n, A> {
    type Error = Noted<A::Error>;
    type Variant = Objects<'n, A::Variant>;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self::Variant), Self::Error> {
        let (name, variant) = self.inner.variant_seed(seed).map_err(Noted::Inner)?;
        Ok((name, Objects::inside(variant, self.notes)))
    }
}

impl<'de, A: VariantAccess<'de>> VariantAccess<'de> for Objects<'_, A> {
    type Error = Noted<A::Error>;

    fn unit_variant(self) -> Result<(), Self::Error> {
        self.inner.unit_variant().map_err(Noted::Inner)
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Self::Error> {
        self.inner.newtype_variant_seed(Objects::inside(seed, self.notes)).map_err(Noted::Inner)
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, Self::Error> {
        self.inner.tuple_variant(len, Objects::inside(visitor, self.notes)).map_err(Noted::Inner)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        let visitor = Objects { is_struct: true, ..Objects::inside(visitor, self.notes) };
        self.inner.struct_variant(fields, visitor).map_err(Noted::Inner)
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Objects<'_, S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        let Self { inner, notes, position, .. } = self;
        let deserializer = Objects { inner: deserializer, notes, position, is_struct: false };
        inner.deserialize(deserializer).map_err(|it| notes.take(it))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;

    #[derive(Debug, Deserialize, PartialEq)]
    struct Outer {
        id: u64,
        inner: Option<Inner>,
        #[serde(default)]
        many: Vec<Inner>,
        #[serde(default)]
        pair: (u8, u8),
    }

    #[derive(Debug, Deserialize, PartialEq)]
    struct Inner {
        name: String,
    }

    fn read<'a, T: Deserialize<'a>>(json: &'a str) -> Option<T> {
        noted(json).0
    }

    fn noted<'a, T: Deserialize<'a>>(json: &'a str) -> (Option<T>, Notes) {
        let notes = Notes::default();
        let value = T::deserialize(Objects::in_(&mut serde_json::Deserializer::from_str(json), &notes)).ok();
        (value, notes)
    }

    #[test]
    fn objects_are_read_at_any_depth() {
        let inner = |name: &str| Inner { name: name.into() };
        let json = r#"{"id": 1, "inner": {"name": "a"}, "many": [{"name": "b"}], "pair": [1, 2]}"#;
        let outer = Outer { id: 1, inner: Some(inner("a")), many: vec![inner("b")], pair: (1, 2) };
        assert_eq!(read(json), Some(outer));
        assert_eq!(read::<serde_json::Value>(json), serde_json::from_str(json).ok());
        assert_eq!(read::<&RawValue>(json).map(RawValue::get), Some(json));
    }

    #[test]
    fn arrays_for_structs_are_rejected_at_any_depth() {
        for json in [
            "[1, null, [], [1, 2]]",
            r#"{"id": 1, "inner": ["a"]}"#,
            r#"{"id": 1, "many": [["b"]]}"#,
            r#"{"id": 1, "many": [{"name": "b"}, ["b"]]}"#,
        ] {
            assert!(serde_json::from_str::<Outer>(json).is_ok(), "serde alone accepts it: {json}");
            assert_eq!(read::<Outer>(json), None, "{json}");
        }
    }

    #[test]
    fn missing_field_is_noted_at_any_depth() {
        for (json, field) in [
            ("{}", Some("id")),
            (r#"{"id": 1, "inner": {}}"#, Some("name")),
            (r#"{"id": 1, "many": [{"name": "a"}, {}]}"#, Some("name")),
            (r#"{"id": "missing field `id`"}"#, None),
            (r#"{"id": 1, "#, None),
            (r#"{"id": 1}"#, None),
        ] {
            assert_eq!(noted::<Outer>(json).1.missing(), field, "{json}");
        }
    }

    /// Whether the type knows the field or not.
    #[test]
    fn user_of_top_level_object_is_noted() {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Known {
            #[expect(dead_code, reason = "only deserialized")]
            user_id: Option<UserId>,
        }
        #[derive(Deserialize)]
        struct Unknown {}
        for (json, user) in [
            ("{}", NamedUser::Absent),
            (r#"{"userId": 7}"#, NamedUser::Given(7.into())),
            (r#"{"a": [1], "user\u0049d": 7, "b": {"userId": 8}}"#, NamedUser::Given(7.into())),
            (r#"{"userId": "auth0|5f"}"#, NamedUser::Given("auth0|5f".into())),
            (r#"{"userId": "\u0037"}"#, NamedUser::Given("7".into())),
            (r#"{"userId": null}"#, NamedUser::Absent),
            (r#"{"a": {"userId": 8}}"#, NamedUser::Absent),
        ] {
            for noted in [noted::<Known>(json).1, noted::<Unknown>(json).1] {
                assert_eq!(noted.user(), user, "{json}");
            }
        }
        for value in ["-1", "1.5", "true", "[7]", "{\"userId\": 7}", "7, \"userId\": 7"] {
            let json = format!("{{\"userId\": {value}}}");
            assert_eq!(noted::<Unknown>(&json).1.user(), NamedUser::Invalid, "{json}");
            assert!(noted::<Known>(&json).0.is_none(), "{json}");
        }
    }
}
