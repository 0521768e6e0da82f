//! Connect's unary calls over HTTP/1.1: the one HTTP policy of the program.
//!
//! ```text
//! any thread                                   | one thread
//! Client::call --encode--> send --Request------|--> serve --> Transport::exchange --> Dial --> Stream
//!       ^                   '-- deadline       |                     |                  '-- proxy, TLS
//!       '-- unary::interpret <--Response-------|-- body, bounded <---'
//! ```
//!
//! Whoever calls gives a deadline for all of it. Answers have a bound, packed as well as unpacked. A request is sent
//! once: whether it may be repeated, and when, is the caller's to know.

mod address;
mod body;
mod client;
mod code;
mod dial;
mod error;
mod options;
mod proxy;
mod stream;
mod tls;
mod transport;
mod unary;

pub use address::{Address, Error as AddressError, Scheme};
pub use client::{Client, Request, Response, Verb};
pub use code::Code;
pub use error::Error;
pub use options::{ClientCertificate, Options, Tls};
pub use proxy::{Error as ProxyError, Proxies, Proxy};
pub use tls::Error as TlsError;
pub use transport::SetUpError;
pub use unary::Answer;
