//! Bodies of answers, within a bound.

use std::io::Read;

use awc::ClientResponse;
use awc::http::StatusCode;
use bytes::{Bytes, BytesMut};
use futures::StreamExt;

/// Why a body could not be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("the answer is larger than {0} bytes")]
    TooLarge(usize),
    #[error("the answer does not say how long it is")]
    Unbounded,
    #[error("the answer was cut off: {0}")]
    Cut(String),
    #[error("the answer is packed in a way that was not asked for ({0:?})")]
    Encoding(String),
    #[error("the packed answer is broken: {0}")]
    Packed(std::io::Error),
}

/// Reads a body to its end; neither its packed nor its unpacked form may be larger than `limit` bytes.
pub(super) async fn read(response: &mut ClientResponse, limit: usize) -> Result<Bytes, Error> {
    let header = |name: &str| {
        let value = response.headers().get(name)?;
        Some(
            String::from_utf8_lossy(value.as_bytes())
                .trim()
                .to_ascii_lowercase(),
        )
    };
    let encoding = header("content-encoding").unwrap_or_default();
    let length = header("content-length").and_then(|length| length.parse::<u64>().ok());
    if length.is_some_and(|length| usize::try_from(length).map_or(true, |length| length > limit)) {
        return Err(Error::TooLarge(limit));
    }
    // The HTTP client takes such an answer for an empty one.
    let is_empty = response.status() == StatusCode::NO_CONTENT;
    if length.is_none() && header("transfer-encoding").is_none() && !is_empty {
        return Err(Error::Unbounded);
    }
    let mut body = BytesMut::new();
    while let Some(chunk) = response.next().await {
        let chunk = chunk.map_err(|error| Error::Cut(error.to_string()))?;
        if body.len() + chunk.len() > limit {
            return Err(Error::TooLarge(limit));
        }
        body.extend_from_slice(&chunk);
    }
    match encoding.as_str() {
        "" | "identity" => Ok(body.freeze()),
        "gzip" | "x-gzip" => unpack(&body, limit),
        _ => Err(Error::Encoding(encoding.chars().take(32).collect())),
    }
}

fn unpack(packed: &[u8], limit: usize) -> Result<Bytes, Error> {
    let mut unpacked = Vec::new();
    // One byte more than allowed is enough to know that it is too much.
    let bound = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    let mut reader = flate2::read::GzDecoder::new(packed).take(bound);
    reader.read_to_end(&mut unpacked).map_err(Error::Packed)?;
    if unpacked.len() > limit {
        return Err(Error::TooLarge(limit));
    }
    Ok(unpacked.into())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn pack(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn what_is_unpacked_has_a_bound() {
        let packed = pack("a".repeat(100_000).as_bytes());
        assert_eq!(unpack(&packed, 100_000).unwrap().len(), 100_000);
        assert!(matches!(unpack(&packed, 99_999), Err(Error::TooLarge(99_999))));
    }

    #[test]
    fn broken_packing_is_an_error() {
        let packed = pack(b"a message");
        for bytes in [&packed[..packed.len() - 1], &packed[..9], b"garbage", b""] {
            assert!(matches!(unpack(bytes, 100), Err(Error::Packed(_))));
        }
    }
}
