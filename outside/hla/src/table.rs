//! What makes types of the tables: one macro for a message, one for the calls, one for the callbacks, one for
//! the enumerations.
//!
//! A field is written `NUMBER NAME: KIND`, where the kind is `string`, `bytes`, `bool`, `uint32`, `double`,
//! `(Enumeration)`, the name of a message, or `[KIND]` for a list.

/// A message of the table: the standard's name, and fields by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageRow {
    /// Without `Request` and `Response` behind the names of calls.
    pub name: &'static str,
    /// By number.
    pub fields: &'static [FieldRow],
}

/// A field of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldRow {
    /// From 1.
    pub number: u32,
    /// In snake case; the standard has camel case.
    pub name: &'static str,
    /// What is in it.
    pub kind: Kind,
}

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `string`, `bytes`, `bool`, `uint32`, `double`, or the name of a message.
    One(&'static str),
    /// The enumeration of this name.
    Enumeration(&'static str),
    /// Any number of strings, or of messages of this name.
    List(&'static str),
}

/// An enumeration of the table: the standard's name, and (number, name) of its values, in camel case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EnumerationRow {
    /// The standard's.
    pub name: &'static str,
    /// From 0.
    pub values: &'static [(i32, &'static str)],
}

macro_rules! kind {
    (($kind:ident)) => {
        $crate::table::Kind::Enumeration(stringify!($kind))
    };
    ([$kind:ident]) => {
        $crate::table::Kind::List(stringify!($kind))
    };
    ($kind:ident) => {
        $crate::table::Kind::One(stringify!($kind))
    };
}

/// The row that describes a message.
macro_rules! message_row {
    ($name:ident { $($number:tt $field:ident: $kind:tt),* $(,)? }) => {
        $crate::table::MessageRow {
            name: stringify!($name),
            fields: &[$($crate::table::FieldRow {
                number: $number,
                name: stringify!($field),
                kind: $crate::table::kind!($kind),
            }),*],
        }
    };
}

/// The type of a message. Fields are taken one by one, since their attributes of prost depend on the kind.
macro_rules! message {
    ($name:ident { $($fields:tt)* }) => {
        $crate::table::message!(@ $name [] $($fields)*);
    };
    (@ $name:ident [$($done:tt)*]) => {
        #[derive(Clone, PartialEq, ::prost::Message)]
        pub struct $name { $($done)* }
    };
    (@ $name:ident [$($done:tt)*] $n:tt $f:ident: string $(, $($rest:tt)*)?) => {
        $crate::table::message!(@ $name [$($done)* #[prost(string, tag = $n)] pub $f: String,] $($($rest)*)?);
    };
    (@ $name:ident [$($done:tt)*] $n:tt $f:ident: bytes $(, $($rest:tt)*)?) => {
        $crate::table::message!(@ $name [
            $($done)* #[prost(bytes = "bytes", tag = $n)] pub $f: ::bytes::Bytes,
        ] $($($rest)*)?);
    };
    (@ $name:ident [$($done:tt)*] $n:tt $f:ident: bool $(, $($rest:tt)*)?) => {
        $crate::table::message!(@ $name [$($done)* #[prost(bool, tag = $n)] pub $f: bool,] $($($rest)*)?);
    };
    (@ $name:ident [$($done:tt)*] $n:tt $f:ident: uint32 $(, $($rest:tt)*)?) => {
        $crate::table::message!(@ $name [$($done)* #[prost(uint32, tag = $n)] pub $f: u32,] $($($rest)*)?);
    };
    (@ $name:ident [$($done:tt)*] $n:tt $f:ident: double $(, $($rest:tt)*)?) => {
        $crate::table::message!(@ $name [$($done)* #[prost(double, tag = $n)] pub $f: f64,] $($($rest)*)?);
    };
    (@ $name:ident [$($done:tt)*] $n:tt $f:ident: ($kind:ident) $(, $($rest:tt)*)?) => {
        $crate::table::message!(@ $name [
            $($done)* #[prost(enumeration($crate::$kind), tag = $n)] pub $f: i32,
        ] $($($rest)*)?);
    };
    (@ $name:ident [$($done:tt)*] $n:tt $f:ident: [string] $(, $($rest:tt)*)?) => {
        $crate::table::message!(@ $name [
            $($done)* #[prost(string, repeated, tag = $n)] pub $f: Vec<String>,
        ] $($($rest)*)?);
    };
    (@ $name:ident [$($done:tt)*] $n:tt $f:ident: [$kind:ident] $(, $($rest:tt)*)?) => {
        $crate::table::message!(@ $name [
            $($done)* #[prost(message, repeated, tag = $n)] pub $f: Vec<$crate::$kind>,
        ] $($($rest)*)?);
    };
    (@ $name:ident [$($done:tt)*] $n:tt $f:ident: $kind:ident $(, $($rest:tt)*)?) => {
        $crate::table::message!(@ $name [
            $($done)* #[prost(message, optional, tag = $n)] pub $f: Option<$crate::$kind>,
        ] $($($rest)*)?);
    };
}

/// Types of messages that stand alone, and the rows of all of them.
macro_rules! messages {
    ($($name:ident { $($fields:tt)* })*) => {
        $($crate::table::message!($name { $($fields)* });)*

        /// All of them, by the standard's order.
        pub const MESSAGES: &[$crate::table::MessageRow] =
            &[$($crate::table::message_row!($name { $($fields)* })),*];
    };
}

macro_rules! enumerations {
    ($($name:ident { $($number:tt $value:ident),* $(,)? })*) => {
        $(
            #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ::prost::Enumeration)]
            #[repr(i32)]
            pub enum $name { $($value = $number),* }
        )*

        /// All of them, by the standard's order.
        pub const ENUMERATIONS: &[$crate::table::EnumerationRow] = &[$($crate::table::EnumerationRow {
            name: stringify!($name),
            values: &[$(($number, stringify!($value))),*],
        }),*];
    };
}

/// The calls: for each, number of the request, number of the response, name, fields of both.
macro_rules! calls {
    ($($n:tt, $m:tt $name:ident { $($asked:tt)* } -> { $($answered:tt)* })*) => {
        /// What a federate sends with a call.
        pub mod request {
            $($crate::table::message!($name { $($asked)* });)*
        }
        /// What it is answered with.
        pub mod response {
            $($crate::table::message!($name { $($answered)* });)*
        }

        /// A call of a federate.
        #[derive(Clone, PartialEq, ::prost::Oneof)]
        pub enum Call { $(#[prost(message, tag = $n)] $name(request::$name),)* }

        /// The answer to a call.
        #[derive(Clone, PartialEq, ::prost::Oneof)]
        pub enum Response {
            #[prost(message, tag = 1)]
            Exception($crate::ExceptionData),
            $(#[prost(message, tag = $m)] $name(response::$name),)*
        }

        /// A call as it is sent.
        #[derive(Clone, PartialEq, ::prost::Message)]
        pub struct CallRequest {
            /// Missing if it is none that this table has.
            #[prost(oneof(Call), tags($($n),*))]
            pub call: Option<Call>,
        }

        /// An answer as it is sent.
        #[derive(Clone, PartialEq, ::prost::Message)]
        pub struct CallResponse {
            /// Missing if it is none that this table has.
            #[prost(oneof(Response), tags(1, $($m),*))]
            pub response: Option<Response>,
        }

        impl Call {
            /// The standard's name of the service, in camel case.
            pub fn name(&self) -> &'static str {
                match self { $(Self::$name(_) => stringify!($name)),* }
            }
        }

        $(
            impl From<request::$name> for Call {
                fn from(call: request::$name) -> Self { Self::$name(call) }
            }
            impl From<response::$name> for Response {
                fn from(response: response::$name) -> Self { Self::$name(response) }
            }
        )*

        /// Number of the request, its fields, number of the response, its fields; by number.
        pub const CALLS: &[(u32, $crate::table::MessageRow, u32, $crate::table::MessageRow)] = &[$((
            $n,
            $crate::table::message_row!($name { $($asked)* }),
            $m,
            $crate::table::message_row!($name { $($answered)* }),
        )),*];
    };
}

/// The callbacks: for each, number, name, fields.
macro_rules! callbacks {
    ($($n:tt $name:ident { $($fields:tt)* })*) => {
        /// What a federate is called with.
        pub mod callback {
            $($crate::table::message!($name { $($fields)* });)*
        }

        /// A callback to a federate.
        #[derive(Clone, PartialEq, ::prost::Oneof)]
        pub enum Callback { $(#[prost(message, tag = $n)] $name(callback::$name),)* }

        /// A callback as it is sent.
        #[derive(Clone, PartialEq, ::prost::Message)]
        pub struct CallbackRequest {
            /// Missing if it is none that this table has.
            #[prost(oneof(Callback), tags($($n),*))]
            pub callback: Option<Callback>,
        }

        impl Callback {
            /// The standard's name of the service, in camel case.
            pub fn name(&self) -> &'static str {
                match self { $(Self::$name(_) => stringify!($name)),* }
            }
        }

        $(
            impl From<callback::$name> for Callback {
                fn from(callback: callback::$name) -> Self { Self::$name(callback) }
            }
        )*

        /// Number and fields, by number.
        pub const CALLBACKS: &[(u32, $crate::table::MessageRow)] =
            &[$(($n, $crate::table::message_row!($name { $($fields)* }))),*];
    };
}

pub(crate) use {callbacks, calls, enumerations, kind, message, message_row, messages};
