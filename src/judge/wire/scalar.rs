//! JSON values that are read as what they are, without failing the text around them.
//!
//! One answer out of seven may hold a word where a number belongs: it fails its own question and not the other six.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// A value of which only a number, a word or a flag is of interest.
#[derive(Debug, Clone, PartialEq, Default)]
pub(in crate::judge) enum Scalar {
    /// A whole number from 0 on.
    Count(u64),
    /// Any other number.
    Number(f64),
    /// A word.
    Text(String),
    /// True or false.
    Flag(bool),
    /// Null.
    #[default]
    Null,
    /// A list or an object.
    Other,
}

/// An object, or nothing if the value is anything else.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::judge) struct Object<T>(pub(in crate::judge) Option<T>);

impl<T> Default for Object<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl Scalar {
    /// The number.
    pub(in crate::judge) fn number(&self) -> Option<f64> {
        match self {
            // Every count that a judge sends for a probability is far below the precision of the type.
            Self::Count(count) => Some(*count as f64),
            Self::Number(number) => Some(*number),
            Self::Text(_) | Self::Flag(_) | Self::Null | Self::Other => None,
        }
    }

    /// The whole number.
    pub(in crate::judge) fn count(&self) -> Option<u64> {
        match self {
            Self::Count(count) => Some(*count),
            Self::Number(_) | Self::Text(_) | Self::Flag(_) | Self::Null | Self::Other => None,
        }
    }

    /// The word.
    pub(in crate::judge) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Count(_) | Self::Number(_) | Self::Flag(_) | Self::Null | Self::Other => None,
        }
    }
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ScalarVisitor)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ObjectVisitor(PhantomData))
    }
}

struct ScalarVisitor;

impl<'de> Visitor<'de> for ScalarVisitor {
    type Value = Scalar;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Scalar, E> {
        Ok(Scalar::Flag(flag))
    }

    fn visit_u64<E>(self, count: u64) -> Result<Scalar, E> {
        Ok(Scalar::Count(count))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Scalar, E> {
        Ok(Scalar::Number(number as f64))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Scalar, E> {
        Ok(Scalar::Number(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Scalar, E> {
        Ok(Scalar::Text(text.to_owned()))
    }

    fn visit_unit<E>(self) -> Result<Scalar, E> {
        Ok(Scalar::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Scalar, A::Error> {
        IgnoredAny.visit_seq(list).map(|_| Scalar::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Scalar, A::Error> {
        IgnoredAny.visit_map(map).map(|_| Scalar::Other)
    }
}

struct ObjectVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
    type Value = Object<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Object<T>, E> {
        Ok(Object(None))
    }

    fn visit_u64<E>(self, _: u64) -> Result<Object<T>, E> {
        Ok(Object(None))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Object<T>, E> {
        Ok(Object(None))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Object<T>, E> {
        Ok(Object(None))
    }

    fn visit_str<E>(self, _: &str) -> Result<Object<T>, E> {
        Ok(Object(None))
    }

    fn visit_unit<E>(self) -> Result<Object<T>, E> {
        Ok(Object(None))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Object<T>, A::Error> {
        IgnoredAny.visit_seq(list).map(|_| Object(None))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Object<T>, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(|value| Object(Some(value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scalar_reads_every_value_as_what_it_is() {
        let read = |text| serde_json::from_str::<Scalar>(text).unwrap();
        assert_eq!(read("0").number(), Some(0.0));
        assert_eq!(read("1").count(), Some(1));
        assert_eq!(read("0.5").number(), Some(0.5));
        assert_eq!(read("1.0").count(), None);
        assert_eq!(read("-1").count(), None);
        for no_number in ["\"0.9\"", "true", "null", "[0.9]", "{\"p\":0.9}"] {
            assert_eq!(read(no_number).number(), None, "{no_number}");
        }
        assert_eq!(read("\"noul\"").text(), Some("noul"));
        assert!(serde_json::from_str::<Scalar>("NaN").is_err());
    }

    #[test]
    fn an_object_is_nothing_if_the_value_is_something_else() {
        type Map = std::collections::BTreeMap<String, u8>;
        let read = |text| serde_json::from_str::<Object<Map>>(text).unwrap().0;
        assert_eq!(read("{\"a\":1}").map(|map| map["a"]), Some(1));
        for other in ["1", "-1", "0.5", "\"a\"", "true", "null", "[{\"a\":1}]"] {
            assert_eq!(read(other), None, "{other}");
        }
        assert!(serde_json::from_str::<Object<Map>>("{\"a\":-1}").is_err());
    }
}
