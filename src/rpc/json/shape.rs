//! Whether a JSON text fits a message: every field that does not is named by its path.
//!
//! The library that reads the message stops at the first misfit and quotes the value, which may be text of a trace.
//! The API has no maps and no well-known types in its requests, so there are none here.

use std::collections::BTreeSet;
use std::fmt;

use prost_reflect::{EnumDescriptor, Kind, MessageDescriptor};
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::domain::trace::{Violation, ViolationReason};
use crate::rpc::codec::MAX_PARTS;
use crate::rpc::status::shown;

/// More are not worth their memory.
const MAX_VIOLATIONS: usize = 1000;

/// Everything in a text that does not fit; an error if the text is not JSON.
pub(super) fn check(
    text: &str,
    message: &MessageDescriptor,
) -> Result<Vec<Violation>, serde_json::Error> {
    let mut misfits = Misfits::default();
    let mut json = serde_json::Deserializer::from_str(text);
    let root = Slot {
        kind: Kind::Message(message.clone()),
        is_list: false,
        is_field: false,
        misfits: &mut misfits,
    };
    root.deserialize(&mut json)?;
    json.end()?;
    Ok(misfits.violations)
}

#[derive(Default)]
struct Misfits {
    entries: usize,
    path: String,
    violations: Vec<Violation>,
}

impl Misfits {
    /// Counts one more entry of a list; what has too many is not worth its memory.
    fn too_many_entries(&mut self) -> bool {
        self.entries += 1;
        if self.entries == MAX_PARTS + 1 {
            self.violations.push(Violation::too_many_parts(MAX_PARTS));
        }
        MAX_PARTS < self.entries
    }

    fn note(&mut self, reason: ViolationReason, description: impl Into<String>) {
        match self.violations.len() {
            0..MAX_VIOLATIONS => {
                let violation = Violation::new(self.path.as_str(), reason, description);
                self.violations.push(violation);
            }
            MAX_VIOLATIONS => {
                let description = format!("more than {MAX_VIOLATIONS} values do not fit");
                let violation = Violation::new("", ViolationReason::TooMany, description);
                self.violations.push(violation);
            }
            _ => (),
        }
    }

    /// Steps into a field; [`Self::leave`] takes what this returns.
    fn enter_field(&mut self, name: &str) -> usize {
        let length = self.path.len();
        if 0 < length {
            self.path.push('.');
        }
        self.path.push_str(name);
        length
    }

    fn enter_element(&mut self, index: usize) -> usize {
        let length = self.path.len();
        self.path.push_str(&format!("[{index}]"));
        length
    }

    fn leave(&mut self, length: usize) {
        self.path.truncate(length);
    }
}

/// A place for a value.
struct Slot<'m> {
    kind: Kind,
    is_list: bool,
    /// Null unsets a field; elsewhere it is a value of the wrong type.
    is_field: bool,
    misfits: &'m mut Misfits,
}

impl Slot<'_> {
    fn wrong_type(&mut self) {
        let expected = if self.is_list {
            "a list".to_owned()
        } else {
            expected(&self.kind)
        };
        self.misfits
            .note(ViolationReason::WrongType, format!("must be {expected}"));
    }

    fn unknown_value(&mut self, of: &EnumDescriptor) {
        let description = format!("is not a value of {}", of.full_name());
        self.misfits
            .note(ViolationReason::UnknownValue, description);
    }

    fn integer(&mut self, fits_enum: bool) {
        match self.kind.clone() {
            Kind::Enum(of) if !self.is_list && !fits_enum => self.unknown_value(&of),
            Kind::Enum(_) if !self.is_list => (),
            kind if !self.is_list && is_number(&kind) => (),
            _ => self.wrong_type(),
        }
    }

    fn fields<'de, A: MapAccess<'de>>(
        &mut self,
        message: &MessageDescriptor,
        mut map: A,
    ) -> Result<(), A::Error> {
        let mut seen = BTreeSet::new();
        while let Some(key) = map.next_key::<String>()? {
            let field = message
                .get_field_by_json_name(&key)
                .or_else(|| message.get_field_by_name(&key));
            let Some(field) = field else {
                let name = shown(&key);
                let entered = self.misfits.enter_field(&name);
                let description = format!("`{name}` is not a field of {}", message.full_name());
                self.misfits
                    .note(ViolationReason::UnknownField, description);
                self.misfits.leave(entered);
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            let entered = self.misfits.enter_field(field.name());
            if !seen.insert(field.number()) {
                self.misfits
                    .note(ViolationReason::Duplicate, "is set more than once");
            }
            map.next_value_seed(Slot {
                kind: field.kind(),
                is_list: field.is_list(),
                is_field: true,
                misfits: &mut *self.misfits,
            })?;
            self.misfits.leave(entered);
        }
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Slot<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Slot<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_unit<E>(mut self) -> Result<(), E> {
        if !self.is_field {
            self.wrong_type();
        }
        Ok(())
    }

    fn visit_bool<E>(mut self, _: bool) -> Result<(), E> {
        if self.is_list || !matches!(self.kind, Kind::Bool) {
            self.wrong_type();
        }
        Ok(())
    }

    fn visit_i64<E>(mut self, number: i64) -> Result<(), E> {
        self.integer(i32::try_from(number).is_ok());
        Ok(())
    }

    fn visit_u64<E>(mut self, number: u64) -> Result<(), E> {
        self.integer(i32::try_from(number).is_ok());
        Ok(())
    }

    fn visit_f64<E>(mut self, _: f64) -> Result<(), E> {
        if self.is_list || !is_number(&self.kind) {
            self.wrong_type();
        }
        Ok(())
    }

    fn visit_str<E>(mut self, text: &str) -> Result<(), E> {
        match self.kind.clone() {
            _ if self.is_list => self.wrong_type(),
            Kind::String | Kind::Bytes => (),
            Kind::Enum(of) if of.get_value_by_name(text).is_none() => self.unknown_value(&of),
            Kind::Enum(_) => (),
            kind if is_number(&kind) && text.parse::<f64>().is_ok() => (),
            _ => self.wrong_type(),
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<(), A::Error> {
        if !self.is_list {
            self.wrong_type();
            while list.next_element::<IgnoredAny>()?.is_some() {}
            return Ok(());
        }
        for index in 0.. {
            if self.misfits.too_many_entries() {
                while list.next_element::<IgnoredAny>()?.is_some() {}
                break;
            }
            let entered = self.misfits.enter_element(index);
            let element = list.next_element_seed(Slot {
                kind: self.kind.clone(),
                is_list: false,
                is_field: false,
                misfits: &mut *self.misfits,
            })?;
            self.misfits.leave(entered);
            if element.is_none() {
                break;
            }
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        match self.kind.clone() {
            Kind::Message(message) if !self.is_list => self.fields(&message, map),
            _ => {
                self.wrong_type();
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(())
            }
        }
    }
}

fn is_number(kind: &Kind) -> bool {
    match kind {
        Kind::Double
        | Kind::Float
        | Kind::Int32
        | Kind::Int64
        | Kind::Uint32
        | Kind::Uint64
        | Kind::Sint32
        | Kind::Sint64
        | Kind::Fixed32
        | Kind::Fixed64
        | Kind::Sfixed32
        | Kind::Sfixed64 => true,
        Kind::Bool | Kind::String | Kind::Bytes | Kind::Message(_) | Kind::Enum(_) => false,
    }
}

fn expected(kind: &Kind) -> String {
    match kind {
        Kind::Bool => "true or false".to_owned(),
        Kind::String | Kind::Bytes => "a string".to_owned(),
        Kind::Message(_) => "an object".to_owned(),
        Kind::Enum(of) => format!("a value of {}", of.full_name()),
        _ => "a number".to_owned(),
    }
}
