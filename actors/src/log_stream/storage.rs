//! What of a stream goes to its journal, and when, without touching a disk.

use std::time::Duration;

use tokio::time::Instant;

use crate::journal::Item;

/// The shortest pause between two moves of the cursor, unless much was acknowledged.
const ADVANCE_PAUSE: Duration = Duration::from_secs(1);
/// So many acknowledged bytes are worth a move of the cursor at once: the disk is full of what nobody needs.
const ADVANCE_BYTES: usize = 1024 * 1024;

/// Whether there is a journal, and whether it takes anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// There is none.
    Absent,
    /// It takes what it is given.
    Writing,
    /// It has refused something; what came since then is only in memory.
    Refusing,
}

/// What is written and would not survive a loss of power.
#[derive(Debug, Default)]
struct Sync {
    at: Option<Instant>,
    is_urgent: bool,
    is_under_way: bool,
}

/// What is acknowledged and not noted yet.
#[derive(Debug, Default)]
struct Moves {
    at: Option<Instant>,
    bytes: usize,
    is_dirty: bool,
    is_under_way: bool,
}

/// The journal of a stream, as the stream sees it.
#[derive(Debug)]
pub struct Storage {
    mode: Mode,
    sync_interval: Duration,
    /// Items that are being written.
    writing: Option<Vec<Item>>,
    sync: Sync,
    cursor: Moves,
    reason: String,
    warned: bool,
}

impl Storage {
    /// Without a journal if there is no interval.
    pub fn new(sync_interval: Option<Duration>) -> Self {
        Self {
            mode: sync_interval.map_or(Mode::Absent, |_| Mode::Writing),
            sync_interval: sync_interval.unwrap_or_default(),
            writing: None,
            sync: Sync::default(),
            cursor: Moves::default(),
            reason: String::new(),
            warned: false,
        }
    }

    /// Tells whether items are to be written before they are delivered.
    pub fn is_writing(&self) -> bool {
        self.mode == Mode::Writing
    }

    /// Tells whether there is a journal that takes nothing.
    pub fn is_refusing(&self) -> bool {
        self.mode == Mode::Refusing
    }

    /// Why it takes nothing.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// Tells whether a write is under way.
    pub fn is_busy(&self) -> bool {
        self.writing.is_some()
    }

    /// These items are being written.
    pub fn on_write(&mut self, items: Vec<Item>) {
        self.writing = Some(items);
    }

    /// The items that were being written, whether they are on disk, and what the operator should hear.
    pub fn on_written(
        &mut self,
        result: Result<(), String>,
        now: Instant,
    ) -> (Vec<Item>, bool, Option<String>) {
        let items = self.writing.take().unwrap_or_default();
        let Err(reason) = result else {
            self.sync.at.get_or_insert(now + self.sync_interval);
            self.sync.is_urgent |= items
                .iter()
                .any(|item| matches!(item, Item::Progress(pending) if pending.urgent));
            return (items, true, None);
        };
        self.mode = Mode::Refusing;
        let warning = (!self.warned).then(|| {
            format!("the job goes on, and its rows are kept in memory as far as they fit: {reason}")
        });
        self.warned = true;
        self.reason = reason;
        (items, false, warning)
    }

    /// Everything is delivered: the journal may be tried again, since nothing before a gap in it is needed any more.
    pub fn on_all_delivered(&mut self) {
        if self.mode == Mode::Refusing {
            self.mode = Mode::Writing;
        }
    }

    /// The forge has acknowledged something.
    pub fn on_acked(&mut self, bytes: usize, now: Instant) {
        if self.mode == Mode::Absent {
            return;
        }
        self.cursor.is_dirty = true;
        self.cursor.bytes += bytes;
        self.cursor.at.get_or_insert(now + ADVANCE_PAUSE);
    }

    /// Tells whether to sync now; it is then under way.
    pub fn take_sync(&mut self, now: Instant) -> bool {
        let due = self.sync.is_urgent || self.sync.at.is_some_and(|at| at <= now);
        if !due || self.sync.is_under_way || self.is_busy() {
            return false;
        }
        self.sync = Sync {
            is_under_way: true,
            ..Sync::default()
        };
        true
    }

    /// A sync is over.
    pub fn on_synced(&mut self) {
        self.sync.is_under_way = false;
    }

    /// Tells whether to move the cursor now; that is then under way.
    pub fn take_advance(&mut self, now: Instant, closing: bool) -> bool {
        let cursor = &self.cursor;
        let due = closing || cursor.bytes >= ADVANCE_BYTES || cursor.at.is_some_and(|at| at <= now);
        if !cursor.is_dirty || !due || cursor.is_under_way {
            return false;
        }
        self.cursor = Moves {
            is_under_way: true,
            ..Moves::default()
        };
        true
    }

    /// The cursor was moved, or could not be, which costs only repeated deliveries.
    pub fn on_advanced(&mut self) {
        self.cursor.is_under_way = false;
    }

    /// Tells whether the journal knows everything that it has to know.
    pub fn is_settled(&self) -> bool {
        !self.is_busy() && !self.cursor.is_under_way && !self.cursor.is_dirty
    }

    /// When something is due.
    pub fn deadline(&self) -> Option<Instant> {
        let sync = self
            .sync
            .at
            .filter(|_| !self.sync.is_under_way && !self.is_busy());
        let advance = self.cursor.at.filter(|_| !self.cursor.is_under_way);
        sync.into_iter().chain(advance).min()
    }
}
