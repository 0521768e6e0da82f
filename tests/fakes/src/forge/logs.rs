//! The log of a task: which rows are new, how they are stored, when it is closed.

use std::time::SystemTime;

use gantry_protocols::connect::Code;
use gantry_protocols::gitea::wire;

use super::record::Row;
use super::rules::{Feature, Refusal};
use super::state::State;
use super::tasks::own_task;

/// How many bytes of a row are kept.
const ROW_LIMIT: usize = 64 * 1024;

impl State {
    pub(super) fn update_log(
        &mut self,
        runner: i64,
        request: wire::UpdateLogRequest,
        now: SystemTime,
    ) -> Result<wire::UpdateLogResponse, Refusal> {
        let closes_empty = self.rules.has(Feature::ArchiveWithoutRows);
        let task = own_task(&mut self.tasks, request.task_id, runner);
        let task = task.map_err(|text| Refusal::new(Code::Internal, format!("get task: {text}")))?;
        let have = super::number(task.rows.len());
        let next = request.index + super::number(request.rows.len());
        let only_closes = closes_empty && request.no_more && request.rows.is_empty() && !task.archived;
        let closes = only_closes && next == have;
        if request.index > have || request.index < 0 || (next <= have && !closes) {
            return Ok(wire::UpdateLogResponse { ack_index: have });
        }
        if task.archived {
            return Err(Refusal::new(Code::AlreadyExists, "log file has been archived"));
        }
        let known = usize::try_from(have - request.index).unwrap_or(0);
        let new = request.rows.into_iter().skip(known);
        task.rows.extend(new.map(|row| stored(row, now)));
        task.archived = request.no_more;
        task.updated = now;
        Ok(wire::UpdateLogResponse {
            ack_index: super::number(task.rows.len()),
        })
    }
}

fn stored(row: wire::LogRow, now: SystemTime) -> Row {
    let mut content = row.content;
    if content.len() > ROW_LIMIT {
        content = String::from_utf8_lossy(&content.as_bytes()[..ROW_LIMIT]).into_owned();
    }
    if content.contains('\n') {
        content = content.replace('\n', "\\n");
    }
    let written = row.time.and_then(|time| SystemTime::try_from(time).ok());
    Row {
        written: written.unwrap_or(SystemTime::UNIX_EPOCH),
        received: now,
        content,
    }
}
/// A row as it stands in the server's file.
pub(super) fn line(row: &Row) -> String {
    let time = wire::Timestamp::from(row.written);
    let seconds = wire::Timestamp { nanos: 0, ..time }.to_string();
    let fraction = time.nanos / 100;
    format!("{}.{fraction:07}Z {}", seconds.trim_end_matches('Z'), row.content)
}
