//! Rows on their way to the server, and what its acknowledgements mean.

use super::claim::timestamp;
use super::wire::{LogRow, UpdateLogRequest};
use crate::forge::{Error, LogBatch, RowIndex, TaskId};

/// The longest request for rows, about: proxies before a forge often let no more than a megabyte pass.
pub(super) const REQUEST_BYTES: usize = 512 * 1024;
/// Below this size nothing is gained by smaller requests: a row may be as long.
pub(super) const LEAST_BYTES: usize = 64 * 1024;
/// What a row takes besides its text.
const ROW_BYTES: usize = 24;

/// Cuts batches of one task into requests of at most about `limit` bytes; a longer row goes alone.
pub(super) fn requests(batches: &[LogBatch], limit: usize) -> Vec<UpdateLogRequest> {
    let mut requests: Vec<UpdateLogRequest> = Vec::new();
    let mut size = 0;
    for batch in batches {
        let time = Some(timestamp(batch.time));
        for (row, index) in batch.rows().zip(batch.first.0..) {
            let row_size = row.len() + ROW_BYTES;
            if size + row_size > limit || requests.is_empty() {
                size = 0;
                requests.push(UpdateLogRequest {
                    task_id: batch.task.0,
                    index: signed(index),
                    ..UpdateLogRequest::default()
                });
            }
            size += row_size;
            if let Some(request) = requests.last_mut() {
                request.rows.push(LogRow {
                    time,
                    content: row.to_owned(),
                });
            }
        }
    }
    requests
}

/// The number of the first row after a request's.
pub(super) fn end_of(request: &UpdateLogRequest) -> RowIndex {
    RowIndex(unsigned(request.index) + request.rows.len() as u64)
}

/// What the server has after it answered `ack` to rows that begin with `first` and end before `end`. `known` is what it
/// had acknowledged before.
///
/// # Errors
/// It has lost rows.
pub(super) fn acknowledged(
    task: TaskId,
    known: RowIndex,
    first: RowIndex,
    end: RowIndex,
    ack: i64,
) -> Result<RowIndex, Error> {
    let ack = RowIndex(unsigned(ack));
    let known = known.max(first);
    if ack < known {
        return Err(Error::LogLost {
            task,
            kept: ack.0,
            acknowledged: known.0,
        });
    }
    // More than was sent cannot be there.
    Ok(ack.min(end))
}

/// A number of the wire, which has only signed ones.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A number from the wire; one below zero means nothing.
pub(super) fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;

    fn batch(first: u64, rows: &[&str]) -> LogBatch {
        let mut batch = LogBatch {
            task: TaskId(7),
            first: RowIndex(first),
            time: SystemTime::UNIX_EPOCH + Duration::from_secs(first),
            step: None,
            text: String::new(),
            ends: Vec::new(),
        };
        for row in rows {
            batch.text.push_str(row);
            batch.ends.push(u32::try_from(batch.text.len()).unwrap());
        }
        batch
    }

    fn show(requests: &[UpdateLogRequest]) -> Vec<String> {
        let rows = |request: &UpdateLogRequest| {
            let rows = request.rows.iter();
            let rows: Vec<_> = rows
                .map(|row| format!("{}@{}", row.content, row.time.unwrap().seconds))
                .collect();
            rows.join(" ")
        };
        let shown = requests.iter();
        shown
            .map(|request| format!("{}..{}: {}", request.index, end_of(request).0, rows(request)))
            .collect()
    }

    #[test]
    fn requests_have_a_bound_and_no_gap() {
        let batches = [batch(3, &["aa", "", "bb"]), batch(6, &["cc"])];
        assert_eq!(show(&requests(&batches, 1000)), ["3..7: aa@3 @3 bb@3 cc@6"]);
        assert_eq!(
            show(&requests(&batches, 2 * ROW_BYTES + 2)),
            ["3..5: aa@3 @3", "5..6: bb@3", "6..7: cc@6"]
        );
        assert_eq!(requests(&batches, 1).len(), 4);
        assert!(requests(&[], 1000).is_empty());
    }

    #[test]
    fn acknowledgements_mean_what_they_can_mean() {
        let judge = |known, first, end, ack| {
            let acked = acknowledged(TaskId(7), RowIndex(known), RowIndex(first), RowIndex(end), ack);
            acked.map(|next| next.0).map_err(|error| error.to_string())
        };
        // Known, first row sent, end of the rows sent, answer.
        assert_eq!(judge(0, 0, 5, 5), Ok(5));
        assert_eq!(judge(2, 2, 5, 3), Ok(3));
        assert_eq!(judge(2, 2, 5, 2), Ok(2));
        assert_eq!(judge(2, 2, 5, 99), Ok(5));
        assert_eq!(judge(4, 2, 5, 4), Ok(4));
        let lost = |kept, known| {
            Err(format!(
                "task 7: submitted logs are lost: the forge has {kept} rows of the {known} that it acknowledged"
            ))
        };
        assert_eq!(judge(4, 2, 5, 3), lost(3, 4));
        assert_eq!(judge(0, 2, 5, 1), lost(1, 2));
        assert_eq!(judge(0, 2, 5, -1), lost(0, 2));
    }
}
