//! Reading the frames of a file one after the other, in pieces of a bounded size.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::record::{self, FRAME_HEAD, Head};

/// How much is read at once; a longer frame is read as a whole.
const PIECE: u64 = 256 * 1024;

/// Where a walk ended.
#[derive(Debug)]
pub struct Walked {
    /// The place of the first frame that was not visited.
    pub offset: u64,
    /// What is wrong with that frame, if that is why the walk ended.
    pub mistake: Option<record::Error>,
}

/// Visits the frames from `offset` on, until `visit` wants no more or the bytes before `end` are used up.
///
/// # Errors
/// The file cannot be read; a torn or damaged frame is no error but an end.
pub fn walk(
    file: &File,
    mut offset: u64,
    end: u64,
    mut visit: impl FnMut(&Head, &[u8]) -> bool,
) -> io::Result<Walked> {
    let mut piece = Vec::new();
    let mut wanted = PIECE;
    while offset < end {
        let length = wanted.min(end - offset);
        piece.resize(usize::try_from(length).map_err(io::Error::other)?, 0);
        file.read_exact_at(&mut piece, offset)?;
        wanted = PIECE;
        let mut rest: &[u8] = &piece;
        loop {
            match record::decode_frame(rest) {
                Ok((head, payload)) => {
                    if !visit(&head, payload) {
                        return Ok(Walked {
                            offset,
                            mistake: None,
                        });
                    }
                    offset += head.frame_length();
                    rest = rest.split_at(FRAME_HEAD + head.length).1;
                }
                // The frame goes on after this piece; the next one begins with it.
                Err(record::Error::Torn) if offset + (rest.len() as u64) < end => {
                    if rest.len() == piece.len() {
                        wanted =
                            record::decode_head(rest).map_or(PIECE, |head| head.frame_length().max(PIECE));
                        if wanted <= length {
                            let mistake = Some(record::Error::Damaged);
                            return Ok(Walked { offset, mistake });
                        }
                    }
                    break;
                }
                Err(_) if rest.is_empty() => break,
                Err(mistake) => {
                    let mistake = Some(mistake);
                    return Ok(Walked { offset, mistake });
                }
            }
        }
    }
    Ok(Walked {
        offset,
        mistake: None,
    })
}
