//! What needs what: unknown jobs and cycles.

use std::collections::{HashMap, VecDeque};

use crate::model::diagnostic::Diagnostics;
use crate::model::reader::fold;
use crate::model::{Job, Position};

/// Checks that every job can start at some time, and spells `needs` as the needed jobs are spelled.
///
/// `position` is the place of the mapping `jobs`.
pub(super) fn check(jobs: &mut [Job], position: Position, errors: &mut Diagnostics) {
    if jobs.iter().all(|job| !job.needs.is_empty()) {
        errors.error(
            position,
            "The workflow must contain at least one job with no dependencies.",
        );
        return;
    }
    let by_id: HashMap<_, _> = jobs
        .iter()
        .enumerate()
        .map(|(at, job)| (fold(&job.id), at))
        .collect();
    let needs: Vec<Vec<Option<usize>>> = jobs
        .iter()
        .map(|job| {
            job.needs
                .iter()
                .map(|need| by_id.get(&fold(&need.value)).copied())
                .collect()
        })
        .collect();
    let done = reachable(&needs);
    for (job, needs) in jobs.iter().zip(&needs) {
        for (written, need) in job.needs.iter().zip(needs) {
            let (id, need_id) = (&job.id, &written.value);
            let message = match need {
                Some(need) if done.get(*need) == Some(&true) => continue,
                Some(_) => {
                    format!(
                        "Job '{id}' depends on job '{need_id}' which creates a cycle in the dependency graph."
                    )
                }
                None => format!("Job '{id}' depends on unknown job '{need_id}'."),
            };
            errors.error(written.position, message);
        }
    }
    let ids: Vec<_> = jobs.iter().map(|job| job.id.clone()).collect();
    for (job, needs) in jobs.iter_mut().zip(&needs) {
        for (written, need) in job.needs.iter_mut().zip(needs) {
            if let Some(id) = need.and_then(|need| ids.get(need)) {
                written.value.clone_from(id);
            }
        }
    }
}

/// The jobs that start at some time, if each starts once all that it needs are done.
fn reachable(needs: &[Vec<Option<usize>>]) -> Vec<bool> {
    let mut waiting: Vec<usize> = needs.iter().map(Vec::len).collect();
    let mut needed_by = vec![Vec::new(); needs.len()];
    for (job, needs) in needs.iter().enumerate() {
        for need in needs.iter().flatten() {
            if let Some(dependents) = needed_by.get_mut(*need) {
                dependents.push(job);
            }
        }
    }
    let mut done = vec![false; needs.len()];
    let mut ready: VecDeque<_> = (0..needs.len())
        .filter(|job| waiting.get(*job) == Some(&0))
        .collect();
    while let Some(job) = ready.pop_front() {
        if let Some(done) = done.get_mut(job) {
            *done = true;
        }
        for dependent in needed_by.get(job).into_iter().flatten() {
            let Some(left) = waiting.get_mut(*dependent) else {
                continue;
            };
            *left -= 1;
            if *left == 0 {
                ready.push_back(*dependent);
            }
        }
    }
    done
}
