//! `on`: events and their filters.

use std::collections::HashSet;

use super::{Entry, entries, inputs, texts};
use crate::model::diagnostic::Diagnostics;
use crate::model::schema::Definition;
use crate::model::{CallTrigger, DispatchTrigger, EventConfig, Node, NodeKind, Triggers};

/// Converts `on`.
pub(super) fn convert(node: Node, definition: &'static Definition, errors: &mut Diagnostics) -> Triggers {
    let mut triggers = Triggers::default();
    if !matches!(node.kind, NodeKind::Mapping(_)) {
        for event in texts(&node) {
            triggers.add(&event, EventConfig::default());
        }
        return triggers;
    }
    for event in entries(node, definition) {
        let name = event.name.clone();
        match &*name {
            "workflow_dispatch" => triggers.dispatch = Some(inputs::dispatch(event, errors)),
            "workflow_call" => triggers.call = Some(inputs::call(event, errors)),
            "schedule" => {
                let schedule = schedule(&event.value, errors);
                triggers.add(
                    &name,
                    EventConfig {
                        schedule,
                        ..EventConfig::default()
                    },
                );
                continue;
            }
            _ => {
                let config = filters(event, errors);
                triggers.add(&name, config);
                continue;
            }
        }
        triggers.add(&name, EventConfig::default());
    }
    triggers
}

impl Triggers {
    fn add(&mut self, event: &str, config: EventConfig) {
        match event {
            "workflow_dispatch" => {
                self.dispatch.get_or_insert_with(DispatchTrigger::default);
            }
            "workflow_call" => {
                self.call.get_or_insert_with(CallTrigger::default);
            }
            _ => {}
        }
        self.events.insert(event.to_owned(), config);
    }
}

fn filters(event: Entry, errors: &mut Diagnostics) -> EventConfig {
    let mut config = EventConfig::default();
    let mut seen = HashSet::new();
    for filter in entries(event.value, event.definition) {
        if matches!(filter.value.kind, NodeKind::Null) {
            continue;
        }
        let patterns = Some(texts(&filter.value));
        match &*filter.name {
            "types" => config.types = patterns,
            "branches" => config.branches = patterns,
            "branches-ignore" => config.branches_ignore = patterns,
            "tags" => config.tags = patterns,
            "tags-ignore" => config.tags_ignore = patterns,
            "paths" => config.paths = patterns,
            "paths-ignore" => config.paths_ignore = patterns,
            "workflows" => config.workflows = patterns,
            _ => {}
        }
        // A filter and its opposite together leave open which of them decides.
        let name = filter.name.trim_end_matches("-ignore").to_owned();
        if seen.contains(&name) {
            let message =
                format!("you may only define one of `{name}` and `{name}-ignore` for a single event");
            errors.error(filter.key, message);
        }
        seen.insert(name);
    }
    config
}

fn schedule(node: &Node, errors: &mut Diagnostics) -> Vec<String> {
    let mut schedule = Vec::new();
    for cron in node.items().iter().filter_map(|item| item.get("cron")) {
        let text = cron.as_str().unwrap_or_default();
        if !is_cron(text) {
            errors.error(cron.position, format!("Invalid CRON expression '{text}'"));
        }
        schedule.push(text.to_owned());
    }
    schedule
}

/// Five fields of the characters that cron knows, or one of the names such as `@daily` that Gitea takes too, maybe
/// after a time zone.
fn is_cron(text: &str) -> bool {
    let mut fields = text.split_whitespace().peekable();
    fields.next_if(|field| field.starts_with("TZ=") || field.starts_with("CRON_TZ="));
    let fields: Vec<_> = fields.collect();
    let legal = |field: &&str| {
        field
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "*/,-?#".contains(c))
    };
    match fields[..] {
        ["@yearly" | "@annually" | "@monthly" | "@weekly" | "@daily" | "@midnight" | "@hourly"]
        | ["@every", _] => true,
        _ => fields.len() == 5 && fields.iter().all(legal),
    }
}
