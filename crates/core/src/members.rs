//! The members of a statement that a person signs, each named once: from one list come the type, what is signed and how strictly it is
//! read, so that none can be signed and not read, or read and not signed.

use crate::bytes::{Digest, Nonce};
use crate::code::Refusal;
use crate::ids::{Environment, GateId, Name, PersonId, RequestId};
use crate::json::{Fields, Json};
use crate::operation::OperationKey;
use crate::time::Timestamp;

/// How a type stands in a statement.
pub(crate) trait Member: Sized {
    /// Reads the member of this name.
    fn read(fields: &Fields<'_>, name: &str) -> Result<Self, Refusal>;

    /// The member as it is signed.
    fn written(&self) -> Result<Json, Refusal>;
}

impl<T: Member> Member for Option<T> {
    fn read(fields: &Fields<'_>, name: &str) -> Result<Option<T>, Refusal> {
        fields.optional(name, |fields, name| T::read(fields, name))
    }

    fn written(&self) -> Result<Json, Refusal> {
        self.as_ref().map_or(Ok(Json::Null), T::written)
    }
}

/// Types that stand in a statement as their one text.
macro_rules! member_as_text {
    ($($name:ty),+ $(,)?) => {
        $(
            impl $crate::members::Member for $name {
                fn read(fields: &$crate::json::Fields<'_>, name: &str) -> Result<$name, $crate::code::Refusal> {
                    fields.parsed(name)
                }

                fn written(&self) -> Result<$crate::json::Json, $crate::code::Refusal> {
                    Ok(self.to_string().into())
                }
            }
        )+
    };
}
pub(crate) use member_as_text;

member_as_text!(Digest, Environment, GateId, Name, Nonce, OperationKey, PersonId, RequestId, Timestamp);

/// Declares a statement: its version 1 members in the order in which they are read. A member that its type alone does not read strictly
/// enough is `in` a wrapper that does.
macro_rules! statement {
    ($(#[doc = $doc:literal])+ $statement:ident, signed as $payload_type:ident {
        $($(#[doc = $member_doc:literal])+ $member:ident: $type:ty $(, in $wrapper:ident)?;)+
    }) => {
        $(#[doc = $doc])+
        #[derive(Clone, PartialEq, Eq, Debug)]
        pub struct $statement {
            $($(#[doc = $member_doc])+ pub $member: $type,)+
        }

        impl $statement {
            /// Signs the statement with an approval key.
            pub fn sign(&self, key: &$crate::sign::SecretKey) -> Result<$crate::dsse::Envelope, $crate::code::Refusal> {
                let payload = $crate::json::Json::object([
                    ("v", 1_u32.into()),
                    $((stringify!($member), $crate::members::written!(self.$member $(, $wrapper)?)?),)+
                ]);
                Ok($crate::dsse::Envelope::sign($payload_type, &payload.canonical()?, key))
            }

            /// Reads a statement from an envelope's payload. It proves nothing yet: see `verify`.
            pub fn parse(payload: &[u8]) -> Result<$statement, $crate::code::Refusal> {
                let json = $crate::json::parse_canonical(payload, &$crate::json::Limits::STATEMENT)?;
                let fields = $crate::json::Fields::exactly(&json, &["v", $(stringify!($member)),+])?;
                fields.version(1)?;
                Ok($statement { $($member: $crate::members::read!(&fields, stringify!($member), $type $(, $wrapper)?)?,)+ })
            }
        }
    };
}
pub(crate) use statement;

macro_rules! written {
    ($value:expr) => {
        $crate::members::Member::written(&$value)
    };
    ($value:expr, $wrapper:ident) => {
        $wrapper::written(&$value)
    };
}
pub(crate) use written;

macro_rules! read {
    ($fields:expr, $name:expr, $type:ty) => {
        <$type as $crate::members::Member>::read($fields, $name)
    };
    ($fields:expr, $name:expr, $type:ty, $wrapper:ident) => {
        $wrapper::read($fields, $name)
    };
}
pub(crate) use read;
