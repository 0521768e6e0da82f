//! An append-only sequence of numbered items in segment files, of which acknowledged ones are deleted.
//!
//! ```text
//! rows-00000000000000000000   items 0 .. 4711     deleted once 4711 items are acknowledged
//! rows-00000000000000004711   items 4711 .. 5000  the last one is appended to
//! ```
//!
//! Nothing here is synced by itself: a process that is killed loses nothing that was written, and what a loss of power
//! may take is the caller's decision.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::durable;
use super::record::{self, FILE_HEAD, Head};
use super::walk::walk;

/// One file.
#[derive(Debug)]
struct Segment {
    first: u64,
    next: u64,
    /// How long the file is up to the end of its last whole record.
    bytes: u64,
}

/// Where the frame of an item begins.
#[derive(Debug, Clone, Copy)]
struct Place {
    number: u64,
    segment: u64,
    offset: u64,
}

/// What [`Spool::open`] found.
#[derive(Debug)]
pub struct Opened {
    /// The spool, which ends after the last whole record.
    pub spool: Spool,
    /// The head of that record.
    pub last: Option<Head>,
    /// Whether records were dropped that came after a damaged one.
    pub damaged: bool,
}

/// The segment files of one sequence.
#[derive(Debug)]
pub struct Spool {
    directory: PathBuf,
    name: &'static str,
    segments: VecDeque<Segment>,
    segment_size: u64,
    next: u64,
    /// The file of the last segment, while it takes more.
    tail: Option<File>,
    unsynced: Vec<File>,
    /// Where the last read ended: reads go on there.
    place: Option<Place>,
}

impl Spool {
    /// An empty spool whose files will have names that begin with `name`; nothing is written yet.
    pub fn new(directory: &Path, name: &'static str, segment_size: u64) -> Self {
        Self {
            directory: directory.to_owned(),
            name,
            segments: VecDeque::new(),
            segment_size,
            next: 0,
            tail: None,
            unsynced: Vec::new(),
            place: None,
        }
    }

    /// Finds the files of a spool, checks every record that is not acknowledged, and cuts off what is not whole.
    ///
    /// # Errors
    /// A file cannot be read, shortened or deleted, or was written by a newer program.
    pub fn open(directory: &Path, name: &'static str, segment_size: u64, acked: u64) -> io::Result<Opened> {
        let mut opened = Opened {
            spool: Self::new(directory, name, segment_size),
            last: None,
            damaged: false,
        };
        let mut expected = None;
        for first in numbers_of(directory, name)? {
            expected = Some(opened.adopt(first, expected)?);
        }
        opened.spool.next = expected.unwrap_or_default().max(acked);
        Ok(opened)
    }

    /// The number of the first item that is still there.
    pub fn first(&self) -> u64 {
        self.segments.front().map_or(self.next, |segment| segment.first)
    }

    /// The number that the next item will have.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// How many bytes the files take.
    pub fn bytes(&self) -> u64 {
        self.segments.iter().map(|segment| segment.bytes).sum()
    }

    /// Appends whole frames, which hold the items from `first` up to `next`.
    ///
    /// A gap is allowed only where everything before it is acknowledged: the reader will never look there.
    ///
    /// # Errors
    /// The frames could not be written whole; what was written of them is taken back.
    pub fn append(&mut self, frames: &[u8], first: u64, next: u64) -> io::Result<()> {
        let full = self.segments.back().is_none_or(|tail| {
            tail.bytes + frames.len() as u64 > self.segment_size && tail.next > tail.first
        });
        if full || self.tail.is_none() || first != self.next {
            self.begin_segment(first)?;
        }
        let (Some(file), Some(segment)) = (&self.tail, self.segments.back_mut()) else {
            return Err(io::Error::other("the spool has no segment"));
        };
        if let Err(error) = file.write_all_at(frames, segment.bytes) {
            // A segment that cannot be shortened is left as it is: its torn end is cut off when it is opened.
            if file.set_len(segment.bytes).is_err() {
                self.tail = None;
            }
            return Err(error);
        }
        segment.bytes += frames.len() as u64;
        segment.next = next;
        self.next = next;
        Ok(())
    }

    /// Visits frames from the one that holds item `from`, until they have at least `wanted` bytes or there are no more.
    ///
    /// # Errors
    /// A file cannot be read, or a record in it is damaged.
    pub fn read(&mut self, from: u64, wanted: u64, mut visit: impl FnMut(&Head, &[u8])) -> io::Result<()> {
        let mut place = self.find(from)?;
        let mut read = 0;
        while read < wanted
            && let Some(end) = self.end_of(&mut place)
        {
            let file = File::open(self.path(place.segment))?;
            let walked = walk(&file, place.offset, end, |head, payload| {
                let go_on = read < wanted && head.first == place.number;
                if go_on {
                    visit(head, payload);
                    place.number = head.next();
                    read += head.frame_length();
                }
                go_on
            })?;
            place.offset = walked.offset;
            if walked.mistake.is_some() || read < wanted && walked.offset < end {
                return Err(damaged());
            }
        }
        self.place = Some(place);
        Ok(())
    }

    /// Deletes the segments all of whose items come before `acked`.
    ///
    /// # Errors
    /// A file cannot be deleted.
    pub fn reclaim(&mut self, acked: u64) -> io::Result<()> {
        while let Some(segment) = self.segments.front() {
            let is_tail = self.segments.len() == 1 && self.tail.is_some();
            // The last segment goes on being appended to, unless it is large enough to be worth a new one.
            if segment.next > acked || is_tail && segment.bytes < self.segment_size {
                break;
            }
            std::fs::remove_file(self.path(segment.first))?;
            if is_tail {
                self.tail = None;
            }
            self.place = self.place.filter(|place| place.segment != segment.first);
            self.segments.pop_front();
        }
        Ok(())
    }

    /// The files that have to be synced before what was appended survives a loss of power.
    ///
    /// # Errors
    /// There are too many open files.
    pub fn take_unsynced(&mut self) -> io::Result<Vec<File>> {
        let mut files = std::mem::take(&mut self.unsynced);
        if let Some(tail) = &self.tail {
            files.push(tail.try_clone()?);
        }
        Ok(files)
    }

    fn path(&self, first: u64) -> PathBuf {
        self.directory.join(format!("{}-{first:020}", self.name))
    }

    fn begin_segment(&mut self, first: u64) -> io::Result<()> {
        self.unsynced.extend(self.tail.take());
        if first != self.next {
            // Everything before the gap is acknowledged. Files with a gap between them would look like damage.
            self.reclaim(first)?;
            self.unsynced.clear();
        }
        // A file of this number holds nothing whole, or this number would not be the next one.
        let file = durable::open_file(&self.path(first))?;
        file.set_len(0)?;
        file.write_all_at(&record::encode_file_head(first), 0)?;
        self.segments.retain(|segment| segment.first != first);
        self.segments.push_back(Segment {
            first,
            next: first,
            bytes: FILE_HEAD as u64,
        });
        self.tail = Some(file);
        Ok(())
    }

    /// The end of the segment that has something to read at `place`, which moves on to the next segment if need be.
    fn end_of(&self, place: &mut Place) -> Option<u64> {
        let index = self
            .segments
            .iter()
            .position(|segment| segment.first == place.segment)?;
        let segment = self.segments.get(index)?;
        if place.offset < segment.bytes {
            return Some(segment.bytes);
        }
        let following = self.segments.get(index + 1)?;
        place.segment = following.first;
        place.offset = FILE_HEAD as u64;
        (place.offset < following.bytes).then_some(following.bytes)
    }

    /// Where the frame of an item begins: where the last read ended, or found by reading its segment.
    fn find(&self, number: u64) -> io::Result<Place> {
        if let Some(place) = self.place
            && place.number == number
        {
            return Ok(place);
        }
        let segment = self
            .segments
            .iter()
            .rfind(|segment| segment.first <= number)
            .ok_or_else(damaged)?;
        let file = File::open(self.path(segment.first))?;
        let mut first = segment.first;
        let walked = walk(&file, FILE_HEAD as u64, segment.bytes, |head, _| {
            let go_on = head.next() <= number;
            if go_on {
                first = head.next();
            }
            go_on
        })?;
        Ok(Place {
            number: first,
            segment: segment.first,
            offset: walked.offset,
        })
    }
}

impl Opened {
    /// Takes the next file, in the order of their numbers, up to its last whole record.
    fn adopt(&mut self, first: u64, expected: Option<u64>) -> io::Result<u64> {
        let path = self.spool.path(first);
        let expected = expected.unwrap_or(first);
        if first != expected {
            // Items are missing before this file, so what is in it cannot be delivered in order.
            self.damaged = true;
            std::fs::remove_file(path)?;
            return Ok(expected);
        }
        let file = durable::open_file(&path)?;
        let Some(scanned) = scan(&file, first)? else {
            std::fs::remove_file(path)?;
            return Ok(expected);
        };
        file.set_len(scanned.bytes)?;
        self.last = scanned.last.or(self.last);
        self.spool.segments.push_back(Segment {
            first,
            next: scanned.next,
            bytes: scanned.bytes,
        });
        Ok(scanned.next)
    }
}

/// How far a file can be used.
struct Scanned {
    next: u64,
    bytes: u64,
    last: Option<Head>,
}

/// Reads a whole file; one without a head of ours is of no use.
fn scan(file: &File, first: u64) -> io::Result<Option<Scanned>> {
    let mut head = [0; FILE_HEAD];
    match file.read_exact_at(&mut head, 0) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    match record::decode_file_head(&head) {
        Ok(number) if number == first => {}
        Err(error @ record::Error::Newer(_)) => {
            return Err(io::Error::new(io::ErrorKind::InvalidData, error));
        }
        _ => return Ok(None),
    }
    let mut scanned = Scanned {
        next: first,
        bytes: FILE_HEAD as u64,
        last: None,
    };
    let walked = walk(file, scanned.bytes, file.metadata()?.len(), |head, _| {
        let fits = head.first == scanned.next;
        if fits {
            scanned.next = head.next();
            scanned.last = Some(*head);
        }
        fits
    })?;
    scanned.bytes = walked.offset;
    Ok(Some(scanned))
}

/// The numbers in the names of a spool's files, in order.
fn numbers_of(directory: &Path, name: &str) -> io::Result<Vec<u64>> {
    let mut numbers = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let file_name = entry?.file_name();
        let number = file_name
            .to_str()
            .and_then(|file| file.strip_prefix(name)?.strip_prefix('-')?.parse::<u64>().ok());
        numbers.extend(number);
    }
    numbers.sort_unstable();
    Ok(numbers)
}

fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, record::Error::Damaged)
}

#[cfg(test)]
#[path = "spool_tests.rs"]
mod tests;
