//! The table of all keys: sections are structs, and one macro makes struct, table, reader and listing of them.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::reader::Reader;
use super::value::{Kind, Value};

/// What the table says of a key.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// What its values are.
    pub kind: Kind,
    /// Its default as YAML writes it on one line.
    pub default: &'static str,
}

/// What a name stands for.
#[derive(Debug, Clone, Copy)]
pub enum Shape {
    /// A key.
    Key(Key),
    /// A section: further names.
    Section(&'static [Entry]),
    /// A mapping of any names to such sections.
    Named(&'static [Entry]),
}

/// A name in a section.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// The name.
    pub name: &'static str,
    /// What it means: one sentence or more for each line.
    pub docs: &'static [&'static str],
    /// What it stands for.
    pub shape: Shape,
}

/// A struct of the configuration.
pub trait Part: Sized {
    /// Its row in the table.
    const SHAPE: Shape;

    /// Takes its values from what was given.
    fn read(reader: &mut Reader<'_>) -> Self;

    /// Lists its values by their paths.
    fn list(&self, path: &[String], leaves: &mut Vec<Leaf>);
}

/// An effective value.
#[derive(Clone, PartialEq)]
pub struct Leaf {
    /// The names that lead to it.
    pub path: Vec<String>,
    /// Whether it is never shown.
    is_secret: bool,
    value: Json,
}

impl Leaf {
    /// A value of a key.
    pub fn new<T: Value>(path: &[String], name: &str, value: &T) -> Self {
        Self {
            path: below(path, name),
            is_secret: T::KIND.is_secret(),
            value: value.json(),
        }
    }

    /// Its path as one text.
    pub fn name(&self) -> String {
        self.path.join(".")
    }

    /// The value as YAML writes it on one line; of a secret only that there is one.
    pub fn shown(&self) -> String {
        super::scalar::inline(&self.masked())
    }

    /// The value, with `***` for every secret text in it.
    fn masked(&self) -> Json {
        match &self.value {
            Json::String(text) if self.is_secret && !text.is_empty() => Json::from("***"),
            Json::String(text) => Json::from(super::redact::text(text)),
            Json::Object(pairs) => Json::Object(
                pairs
                    .iter()
                    .map(|(name, value)| (name.clone(), super::redact::named(name, value, self.is_secret)))
                    .collect(),
            ),
            value => value.clone(),
        }
    }
}

/// A path with one more name.
pub fn below(path: &[String], name: &str) -> Vec<String> {
    path.iter().cloned().chain([name.to_owned()]).collect()
}

impl<T: Part> Part for BTreeMap<String, T> {
    const SHAPE: Shape = match T::SHAPE {
        Shape::Section(entries) => Shape::Named(entries),
        other => other,
    };

    fn read(reader: &mut Reader<'_>) -> Self {
        let names = reader.names();
        names
            .into_iter()
            .map(|name| {
                let part = reader.section(&name);
                (name, part)
            })
            .collect()
    }

    fn list(&self, path: &[String], leaves: &mut Vec<Leaf>) {
        for (name, part) in self {
            part.list(&below(path, name), leaves);
        }
    }
}

/// Makes a struct of the configuration and its rows in the table.
///
/// A field with a default is a key, and `positive` behind the default makes zero and less stand for it; a field
/// without one is a section.
macro_rules! section {
    (
        $(#[doc = $about:literal])+
        pub struct $name:ident {
            $( $(#[doc = $doc:literal])+ $field:ident: $ty:ty $(= $default:literal $($rule:ident)?)?; )*
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, PartialEq)]
        #[allow(clippy::struct_excessive_bools, clippy::struct_field_names, reason = "the keys of the file")]
        pub struct $name { $( $(#[doc = $doc])+ pub $field: $ty, )* }

        impl $crate::config::shape::Part for $name {
            const SHAPE: $crate::config::shape::Shape = $crate::config::shape::Shape::Section(&[$(
                $crate::config::shape::Entry {
                    name: stringify!($field),
                    docs: &[$($doc),+],
                    shape: section!(@shape $ty $(, $default)?),
                },
            )*]);

            fn read(reader: &mut $crate::config::reader::Reader<'_>) -> Self {
                Self { $( $field: section!(@read reader, $field $(, $default $($rule)?)?), )* }
            }

            fn list(&self, path: &[String], leaves: &mut Vec<$crate::config::shape::Leaf>) {
                $( section!(@list self, path, leaves, $field $(, $default)?); )*
            }
        }

        impl Default for $name {
            fn default() -> Self {
                $crate::config::reader::defaults()
            }
        }
    };
    (@shape $ty:ty, $default:literal) => {
        $crate::config::shape::Shape::Key($crate::config::shape::Key {
            kind: <$ty as $crate::config::value::Value>::KIND,
            default: $default,
        })
    };
    (@shape $ty:ty) => { <$ty as $crate::config::shape::Part>::SHAPE };
    (@read $reader:ident, $field:ident, $default:literal $($rule:ident)?) => {
        $reader.key(stringify!($field), $default, section!(@positive $($rule)?))
    };
    (@read $reader:ident, $field:ident) => { $reader.section(stringify!($field)) };
    (@list $self:ident, $path:ident, $leaves:ident, $field:ident, $default:literal) => {
        $leaves.push($crate::config::shape::Leaf::new($path, stringify!($field), &$self.$field))
    };
    (@list $self:ident, $path:ident, $leaves:ident, $field:ident) => {
        $crate::config::shape::Part::list(
            &$self.$field,
            &$crate::config::shape::below($path, stringify!($field)),
            $leaves,
        )
    };
    (@positive positive) => { true };
    (@positive) => { false };
}

pub(super) use section;
