//! Concurrency groups: in each group at most one holder runs and one waits.
//!
//! Workflow-level and job-level uses share the groups, and the names of groups ignore case
//! (GitHub: docs, "Control the concurrency of workflows and jobs").

use std::collections::HashMap;
use std::hash::Hash;

/// All groups that somebody holds or waits for.
#[derive(Debug)]
pub struct Registry<K> {
    groups: HashMap<String, Group<K>>,
    memberships: HashMap<K, String>,
}

#[derive(Debug)]
struct Group<K> {
    running: K,
    waiting: Option<K>,
}

/// The answer to a request for a group.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Admission<K> {
    /// The group was free: the new holder runs.
    Granted,
    /// The new holder waits until the group is free.
    Queued {
        /// The holder that waited until now; it has lost its place and never runs.
        replaced: Option<K>,
        /// The running holder that must be cancelled to make room.
        cancel: Option<K>,
    },
}

impl<K> Default for Registry<K> {
    fn default() -> Self {
        Self {
            groups: HashMap::new(),
            memberships: HashMap::new(),
        }
    }
}

impl<K: Clone + Eq + Hash> Registry<K> {
    /// Asks for `group` on behalf of `holder`, which must not be in a group yet.
    pub fn request(&mut self, holder: K, group: &str, cancel_in_progress: bool) -> Admission<K> {
        let name = fold(group);
        self.memberships.insert(holder.clone(), name.clone());
        let Some(found) = self.groups.get_mut(&name) else {
            self.groups.insert(
                name,
                Group {
                    running: holder,
                    waiting: None,
                },
            );
            return Admission::Granted;
        };
        let replaced = found.waiting.replace(holder);
        if let Some(replaced) = &replaced {
            self.memberships.remove(replaced);
        }
        let cancel = cancel_in_progress.then(|| found.running.clone());
        Admission::Queued { replaced, cancel }
    }

    /// Takes `holder` out of its group, whether it ran or waited, and returns the holder that runs now instead.
    pub fn release(&mut self, holder: &K) -> Option<K> {
        let name = self.memberships.remove(holder)?;
        let group = self.groups.get_mut(&name)?;
        if group.running != *holder {
            group.waiting = None;
            return None;
        }
        if let Some(next) = group.waiting.take() {
            group.running = next.clone();
            return Some(next);
        }
        self.groups.remove(&name);
        None
    }

    /// The holder that runs in `group`.
    pub fn holder(&self, group: &str) -> Option<&K> {
        self.groups.get(&fold(group)).map(|group| &group.running)
    }
}

fn fold(group: &str) -> String {
    group.to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queued(replaced: Option<u32>, cancel: Option<u32>) -> Admission<u32> {
        Admission::Queued { replaced, cancel }
    }

    #[test]
    fn the_newest_waiting_holder_replaces_the_older_one() {
        let mut registry = Registry::default();
        assert_eq!(registry.request(1, "deploy", false), Admission::Granted);
        assert_eq!(registry.request(2, "Deploy", false), queued(None, None));
        assert_eq!(registry.request(3, "DEPLOY", false), queued(Some(2), None));
        assert_eq!(registry.release(&2), None);
        assert_eq!(registry.release(&1), Some(3));
        assert_eq!(registry.holder("deploy"), Some(&3));
        assert_eq!(registry.release(&3), None);
        assert_eq!(registry.holder("deploy"), None);
    }

    #[test]
    fn cancel_in_progress_names_the_running_holder_but_waits_for_it() {
        let mut registry = Registry::default();
        assert_eq!(registry.request(1, "g", false), Admission::Granted);
        assert_eq!(registry.request(2, "g", true), queued(None, Some(1)));
        assert_eq!(registry.release(&1), Some(2));
    }

    #[test]
    fn a_waiting_holder_may_leave() {
        let mut registry = Registry::default();
        assert_eq!(registry.request(1, "g", false), Admission::Granted);
        assert_eq!(registry.request(2, "g", false), queued(None, None));
        assert_eq!(registry.release(&2), None);
        assert_eq!(registry.release(&1), None);
        assert_eq!(registry.request(3, "g", false), Admission::Granted);
    }

    #[test]
    fn groups_are_independent() {
        let mut registry = Registry::default();
        assert_eq!(registry.request(1, "a", false), Admission::Granted);
        assert_eq!(registry.request(2, "b", true), Admission::Granted);
    }
}
