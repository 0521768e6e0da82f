//! The format of what is appended to the journal: frames that a torn or damaged file cannot turn into garbage.
//!
//! ```text
//! file   = head frame*
//! head   = magic "GNTRYLOG" | version u16 | 0 u16 | crc32 u32 | number u64          the number of its first item
//! frame  = crc32 u32 | length u32 | first u64 | seconds i64 | nanoseconds u32 | step u32 | count u32 | flags u32
//!          | payload                                                                 `length` bytes
//! rows   : payload = count times the end of a row u32, then the text of all rows
//! other  : payload = JSON, count = 1
//! ```
//!
//! All numbers are little-endian. A checksum covers everything after itself. A frame is one batch of items with
//! consecutive numbers, so the numbers of a file have no gap; whatever breaks one of these rules ends the file there.

use std::time::{Duration, SystemTime};

use gantry_protocols::forge::{LogBatch, RowIndex, TaskId};

/// The version of the format that this program writes, and the newest that it reads.
pub const VERSION: u16 = 1;

/// How long the head of a file is, in bytes.
pub const FILE_HEAD: usize = 24;
/// How long the head of a frame is, in bytes.
pub const FRAME_HEAD: usize = 40;
/// The longest payload: no batch of rows comes near, and a damaged length must not become an allocation.
pub const MAX_PAYLOAD: usize = 64 * 1024 * 1024;

/// What the runner adds when it finds a task that another process has left behind.
pub const FLAG_LAST_WORDS: u32 = 1;

const MAGIC: [u8; 8] = *b"GNTRYLOG";
/// Stands for rows that no step wrote.
const NO_STEP: u32 = u32::MAX;

/// Why bytes are no file or no frame of this format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The bytes end before the frame does.
    #[error("it ends in the middle of a record")]
    Torn,
    /// A checksum, a number or a length is wrong.
    #[error("a record is damaged")]
    Damaged,
    /// A newer program has written it.
    #[error("its format {0} is newer than this program")]
    Newer(u16),
    /// A batch is too large to be one frame.
    #[error("a record of {0} bytes is too large")]
    TooLarge(usize),
}

/// The head of a frame: everything but its payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// The number of its first item.
    pub first: u64,
    /// How many items it holds.
    pub count: u32,
    /// When they were read.
    pub time: SystemTime,
    /// The top-level step that they belong to.
    pub step: Option<usize>,
    /// `FLAG_...`
    pub flags: u32,
    /// How many bytes of payload follow.
    pub length: usize,
    checksum: u32,
}

impl Head {
    /// The number that the next frame begins with.
    pub fn next(&self) -> u64 {
        self.first.saturating_add(u64::from(self.count))
    }

    /// How many bytes the frame takes in its file.
    pub fn frame_length(&self) -> u64 {
        (FRAME_HEAD + self.length) as u64
    }
}

/// The head of a file whose first item has this number.
pub fn encode_file_head(number: u64) -> [u8; FILE_HEAD] {
    let mut head = [0; FILE_HEAD];
    head[..8].copy_from_slice(&MAGIC);
    head[8..10].copy_from_slice(&VERSION.to_le_bytes());
    head[16..].copy_from_slice(&number.to_le_bytes());
    let checksum = crc32fast::hash(&head[16..]);
    head[12..16].copy_from_slice(&checksum.to_le_bytes());
    head
}

/// The number of the first item of a file.
///
/// # Errors
/// The bytes are not the head of a file that this program can read.
pub fn decode_file_head(bytes: &[u8]) -> Result<u64, Error> {
    let magic: [u8; 8] = read(bytes, 0)?;
    if magic != MAGIC {
        return Err(Error::Damaged);
    }
    let version = u16::from_le_bytes(read(bytes, 8)?);
    if version > VERSION {
        return Err(Error::Newer(version));
    }
    let number: [u8; 8] = read(bytes, 16)?;
    if version != VERSION || u32::from_le_bytes(read(bytes, 12)?) != crc32fast::hash(&number) {
        return Err(Error::Damaged);
    }
    Ok(u64::from_le_bytes(number))
}

/// Appends a batch of rows to `out`.
///
/// # Errors
/// The batch is too large for one frame; nothing is appended.
pub fn encode_rows(batch: &LogBatch, flags: u32, out: &mut Vec<u8>) -> Result<(), Error> {
    let length = batch.ends.len() * 4 + batch.text.len();
    let count = u32::try_from(batch.ends.len()).map_err(|_out_of_range| Error::TooLarge(length))?;
    let start = begin_frame(out, length)?;
    for end in &batch.ends {
        out.extend_from_slice(&end.to_le_bytes());
    }
    out.extend_from_slice(batch.text.as_bytes());
    let step = batch.step.and_then(|step| u32::try_from(step).ok());
    end_frame(
        out,
        start,
        batch.first.0,
        batch.time,
        step.unwrap_or(NO_STEP),
        count,
        flags,
    );
    Ok(())
}

/// Appends one item that is not rows to `out`.
///
/// # Errors
/// The item is too large for one frame; nothing is appended.
pub fn encode_item(number: u64, payload: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
    let start = begin_frame(out, payload.len())?;
    out.extend_from_slice(payload);
    end_frame(out, start, number, SystemTime::UNIX_EPOCH, NO_STEP, 1, 0);
    Ok(())
}

/// Reads the head of the frame at the start of `bytes`; its payload need not be there yet.
///
/// # Errors
/// The bytes end too early, or the head cannot be right.
pub fn decode_head(bytes: &[u8]) -> Result<Head, Error> {
    let length = u32::from_le_bytes(read(bytes, 4)?) as usize;
    let first = u64::from_le_bytes(read(bytes, 8)?);
    let seconds = i64::from_le_bytes(read(bytes, 16)?);
    let nanoseconds = u32::from_le_bytes(read(bytes, 24)?);
    let step = u32::from_le_bytes(read(bytes, 28)?);
    let count = u32::from_le_bytes(read(bytes, 32)?);
    let flags = u32::from_le_bytes(read(bytes, 36)?);
    if length > MAX_PAYLOAD || count == 0 {
        return Err(Error::Damaged);
    }
    Ok(Head {
        first,
        count,
        time: time_of(seconds, nanoseconds).ok_or(Error::Damaged)?,
        step: (step != NO_STEP).then_some(step as usize),
        flags,
        length,
        checksum: u32::from_le_bytes(read(bytes, 0)?),
    })
}

/// Checks the frame at the start of `bytes` and returns its head and its payload.
///
/// # Errors
/// The bytes end too early, or the frame is damaged.
pub fn decode_frame(bytes: &[u8]) -> Result<(Head, &[u8]), Error> {
    let head = decode_head(bytes)?;
    let frame = bytes.get(..FRAME_HEAD + head.length).ok_or(Error::Torn)?;
    let (_, checked) = frame.split_at(4);
    if crc32fast::hash(checked) != head.checksum {
        return Err(Error::Damaged);
    }
    let (_, payload) = frame.split_at(FRAME_HEAD);
    Ok((head, payload))
}

/// The rows that a frame holds.
///
/// # Errors
/// The payload does not hold as many rows as the head says.
pub fn decode_rows(task: TaskId, head: &Head, payload: &[u8]) -> Result<LogBatch, Error> {
    let (ends, text) = payload
        .split_at_checked(head.count as usize * 4)
        .ok_or(Error::Damaged)?;
    let text = std::str::from_utf8(text).map_err(|_not_utf8| Error::Damaged)?;
    let (ends, _) = ends.as_chunks::<4>();
    let ends: Vec<u32> = ends.iter().map(|end| u32::from_le_bytes(*end)).collect();
    let fits = ends.is_sorted()
        && ends.iter().all(|end| text.is_char_boundary(*end as usize))
        && ends.last().is_some_and(|end| *end as usize == text.len());
    if !fits {
        return Err(Error::Damaged);
    }
    Ok(LogBatch {
        task,
        first: RowIndex(head.first),
        time: head.time,
        step: head.step,
        text: text.to_owned(),
        ends,
    })
}

/// Makes room for the head of a frame and returns where the frame starts.
fn begin_frame(out: &mut Vec<u8>, length: usize) -> Result<usize, Error> {
    if length > MAX_PAYLOAD {
        return Err(Error::TooLarge(length));
    }
    let start = out.len();
    out.reserve(FRAME_HEAD + length);
    out.extend_from_slice(&[0; FRAME_HEAD]);
    Ok(start)
}

/// Fills in the head of the frame that ends with `out`.
fn end_frame(out: &mut [u8], start: usize, first: u64, time: SystemTime, step: u32, count: u32, flags: u32) {
    let (_, frame) = out.split_at_mut(start);
    // The length was checked when the frame was begun.
    let length = u32::try_from(frame.len() - FRAME_HEAD).unwrap_or(u32::MAX);
    let (seconds, nanoseconds) = parts_of(time);
    frame[4..8].copy_from_slice(&length.to_le_bytes());
    frame[8..16].copy_from_slice(&first.to_le_bytes());
    frame[16..24].copy_from_slice(&seconds.to_le_bytes());
    frame[24..28].copy_from_slice(&nanoseconds.to_le_bytes());
    frame[28..32].copy_from_slice(&step.to_le_bytes());
    frame[32..36].copy_from_slice(&count.to_le_bytes());
    frame[36..40].copy_from_slice(&flags.to_le_bytes());
    let checksum = crc32fast::hash(&frame[4..]);
    frame[..4].copy_from_slice(&checksum.to_le_bytes());
}

fn read<const N: usize>(bytes: &[u8], at: usize) -> Result<[u8; N], Error> {
    let (_, rest) = bytes.split_at_checked(at).ok_or(Error::Torn)?;
    rest.first_chunk().copied().ok_or(Error::Torn)
}

/// A point in time as whole seconds since 1970, rounded down, and nanoseconds after that.
pub fn parts_of(time: SystemTime) -> (i64, u32) {
    let seconds = |passed: Duration| i64::try_from(passed.as_secs()).unwrap_or(i64::MAX);
    match time.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(after) => (seconds(after), after.subsec_nanos()),
        Err(before) => match (seconds(before.duration()), before.duration().subsec_nanos()) {
            (whole, 0) => (-whole, 0),
            (whole, part) => (-whole - 1, 1_000_000_000 - part),
        },
    }
}

/// The point in time that [`parts_of`] took apart, unless no clock could have shown it.
pub fn time_of(seconds: i64, nanoseconds: u32) -> Option<SystemTime> {
    let whole = Duration::from_secs(seconds.unsigned_abs());
    let second = if seconds < 0 {
        SystemTime::UNIX_EPOCH.checked_sub(whole)
    } else {
        SystemTime::UNIX_EPOCH.checked_add(whole)
    };
    let part = (nanoseconds < 1_000_000_000).then(|| Duration::from_nanos(nanoseconds.into()));
    second?.checked_add(part?)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TASK: TaskId = TaskId(7);

    fn batch(first: u64, step: Option<usize>, time: SystemTime, rows: &[String]) -> LogBatch {
        let mut batch = LogBatch {
            task: TASK,
            first: RowIndex(first),
            time,
            step,
            text: String::new(),
            ends: Vec::new(),
        };
        for row in rows {
            batch.text.push_str(row);
            batch.ends.push(u32::try_from(batch.text.len()).unwrap());
        }
        batch
    }

    /// What a reader makes of the bytes of a file without its head: everything before the first mistake.
    fn decode_all(mut bytes: &[u8]) -> Vec<LogBatch> {
        let mut batches = Vec::new();
        while let Ok((head, payload)) = decode_frame(bytes)
            && let Ok(batch) = decode_rows(TASK, &head, payload)
        {
            batches.push(batch);
            bytes = &bytes[FRAME_HEAD + head.length..];
        }
        batches
    }

    fn show(batches: &[LogBatch]) -> Vec<String> {
        batches.iter().map(|batch| format!("{batch:?}")).collect()
    }

    fn any_time() -> impl Strategy<Value = SystemTime> {
        (-4_000_000_000_i64..40_000_000_000, 0_u32..1_000_000_000)
            .prop_map(|(seconds, nanoseconds)| time_of(seconds, nanoseconds).unwrap())
    }

    prop_compose! {
        fn any_batches()(
            parts in prop::collection::vec(
                (prop::collection::vec("\\PC{0,12}", 1..5), prop::option::of(0_usize..9), any_time()), 1..6),
        ) -> Vec<LogBatch> {
            let mut first = 0;
            let mut batches = Vec::new();
            for (rows, step, time) in parts {
                batches.push(batch(first, step, time, &rows));
                first += rows.len() as u64;
            }
            batches
        }
    }

    fn encode(batches: &[LogBatch]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for batch in batches {
            encode_rows(batch, 0, &mut bytes).unwrap();
        }
        bytes
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(batches in any_batches()) {
            prop_assert_eq!(show(&decode_all(&encode(&batches))), show(&batches));
        }

        #[test]
        fn a_cut_leaves_the_whole_records_before_it(batches in any_batches(), at in any::<prop::sample::Index>()) {
            let bytes = encode(&batches);
            let at = at.index(bytes.len() + 1);
            let ends: Vec<usize> = (1..=batches.len()).map(|count| encode(&batches[..count]).len()).collect();
            let whole = ends.iter().filter(|end| **end <= at).count();
            prop_assert_eq!(show(&decode_all(&bytes[..at])), show(&batches[..whole]));
        }

        #[test]
        fn a_flipped_bit_leaves_the_records_before_it(
            batches in any_batches(), at in any::<prop::sample::Index>(), bit in 0_u8..8,
        ) {
            let mut bytes = encode(&batches);
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
            let whole = (1..=batches.len()).filter(|count| encode(&batches[..*count]).len() <= at).count();
            prop_assert_eq!(show(&decode_all(&bytes)), show(&batches[..whole]));
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            drop(decode_all(&bytes));
            prop_assert!(decode_file_head(&bytes).is_err() || bytes.starts_with(&MAGIC));
        }

        #[test]
        fn a_time_survives(time in any_time()) {
            let (seconds, nanoseconds) = parts_of(time);
            prop_assert_eq!(time_of(seconds, nanoseconds), Some(time));
        }
    }

    #[test]
    fn the_head_of_a_file_is_checked() {
        let head = encode_file_head(42);
        assert_eq!(decode_file_head(&head), Ok(42));
        assert_eq!(decode_file_head(&head[..23]), Err(Error::Torn));
        let mut other = head;
        other[20] ^= 1;
        assert_eq!(decode_file_head(&other), Err(Error::Damaged));
        let mut newer = head;
        newer[8] = 2;
        assert_eq!(decode_file_head(&newer), Err(Error::Newer(2)));
    }
}
