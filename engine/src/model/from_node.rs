//! Conversions of evaluated nodes to the types of the model.

use std::sync::Arc;

use indexmap::IndexMap;

use super::convert::{concurrency, container, runs_on};
use super::diagnostic::Diagnostics;
use super::{
    Concurrency, Container, Defaults, Diagnostic, FromNode, InputValue, Node, NodeKind, RunsOn, Services,
    StringMap,
};

/// The one mistake that a value which passed the schema may still have: it is of another type.
fn unexpected(file: &Arc<str>, node: &Node) -> Vec<Diagnostic> {
    let mut errors = Diagnostics::new(file.clone());
    match node.kind {
        NodeKind::Sequence(_) => errors.error(node.position, "A sequence was not expected"),
        NodeKind::Mapping(_) => errors.error(node.position, "A mapping was not expected"),
        _ => errors.error(
            node.position,
            format!("Unexpected value '{}'", node.to_value().to_text()),
        ),
    }
    errors.into_vec()
}

/// Reads an optional key of a mapping.
fn key<T: FromNode>(file: &Arc<str>, node: &Node, name: &str) -> Result<Option<T>, Vec<Diagnostic>> {
    node.get(name).map(|value| T::from_node(file, value)).transpose()
}

impl FromNode for String {
    fn from_node(file: &Arc<str>, node: &Node) -> Result<Self, Vec<Diagnostic>> {
        let value = node.to_value();
        if value.is_primitive() {
            Ok(value.to_text().into_owned())
        } else {
            Err(unexpected(file, node))
        }
    }
}

impl FromNode for bool {
    fn from_node(file: &Arc<str>, node: &Node) -> Result<Self, Vec<Diagnostic>> {
        match node.kind {
            NodeKind::Bool(value) => Ok(value),
            _ => Err(unexpected(file, node)),
        }
    }
}

impl FromNode for f64 {
    fn from_node(file: &Arc<str>, node: &Node) -> Result<Self, Vec<Diagnostic>> {
        match node.kind {
            NodeKind::Number(value) => Ok(value),
            _ => Err(unexpected(file, node)),
        }
    }
}

impl FromNode for InputValue {
    fn from_node(file: &Arc<str>, node: &Node) -> Result<Self, Vec<Diagnostic>> {
        match node.kind {
            NodeKind::Bool(value) => Ok(Self::Boolean(value)),
            NodeKind::Number(value) => Ok(Self::Number(value)),
            _ => String::from_node(file, node).map(Self::String),
        }
    }
}

impl FromNode for Vec<String> {
    fn from_node(file: &Arc<str>, node: &Node) -> Result<Self, Vec<Diagnostic>> {
        match &node.kind {
            NodeKind::Sequence(items) => items.iter().map(|item| String::from_node(file, item)).collect(),
            _ => String::from_node(file, node).map(|one| vec![one]),
        }
    }
}

impl FromNode for StringMap {
    fn from_node(file: &Arc<str>, node: &Node) -> Result<Self, Vec<Diagnostic>> {
        let NodeKind::Mapping(entries) = &node.kind else {
            return Err(unexpected(file, node));
        };
        let mut map = IndexMap::with_capacity(entries.len());
        for (key, value) in entries {
            map.insert(String::from_node(file, key)?, String::from_node(file, value)?);
        }
        Ok(Self(map))
    }
}

impl FromNode for Concurrency {
    fn from_node(file: &Arc<str>, node: &Node) -> Result<Self, Vec<Diagnostic>> {
        let found = match node.kind {
            NodeKind::Mapping(_) => Self {
                group: key(file, node, "group")?.unwrap_or_default(),
                cancel_in_progress: key(file, node, "cancel-in-progress")?.unwrap_or_default(),
            },
            _ => Self {
                group: String::from_node(file, node)?,
                cancel_in_progress: false,
            },
        };
        let mut errors = Diagnostics::new(file.clone());
        if found.group.is_empty() {
            errors.error(node.position, "Concurrency group name cannot be empty");
        }
        concurrency::check(node, &mut errors);
        errors.into_result(found)
    }
}

impl FromNode for Defaults {
    fn from_node(file: &Arc<str>, node: &Node) -> Result<Self, Vec<Diagnostic>> {
        let Some(run) = node.get("run") else {
            return Ok(Self::default());
        };
        Ok(Self {
            shell: key(file, run, "shell")?,
            working_directory: key(file, run, "working-directory")?,
        })
    }
}

impl FromNode for RunsOn {
    fn from_node(file: &Arc<str>, node: &Node) -> Result<Self, Vec<Diagnostic>> {
        let mut errors = Diagnostics::new(file.clone());
        runs_on::check(node, &mut errors);
        let runs_on = match node.kind {
            NodeKind::Mapping(_) => Self {
                group: key(file, node, "group")?,
                labels: key(file, node, "labels")?.unwrap_or_default(),
            },
            _ => Self {
                group: None,
                labels: Vec::from_node(file, node)?,
            },
        };
        errors.into_result(runs_on)
    }
}

impl FromNode for Container {
    fn from_node(file: &Arc<str>, node: &Node) -> Result<Self, Vec<Diagnostic>> {
        let NodeKind::Mapping(_) = node.kind else {
            let image = String::from_node(file, node)?;
            return Ok(Self {
                image: container::trim(&image).to_owned(),
                ..Self::default()
            });
        };
        let image: String = key(file, node, "image")?.unwrap_or_default();
        let credentials = match node.get("credentials") {
            Some(node) => Some((
                key(file, node, "username")?.unwrap_or_default(),
                key(file, node, "password")?.unwrap_or_default(),
            )),
            None => None,
        };
        Ok(Self {
            image: container::trim(&image).to_owned(),
            options: key(file, node, "options")?,
            env: key(file, node, "env")?.unwrap_or_default(),
            ports: key(file, node, "ports")?.unwrap_or_default(),
            volumes: key(file, node, "volumes")?.unwrap_or_default(),
            credentials,
            entrypoint: key(file, node, "entrypoint")?,
            command: key(file, node, "command")?,
        })
    }
}

impl FromNode for Services {
    fn from_node(file: &Arc<str>, node: &Node) -> Result<Self, Vec<Diagnostic>> {
        let NodeKind::Mapping(entries) = &node.kind else {
            return Err(unexpected(file, node));
        };
        let mut services = IndexMap::with_capacity(entries.len());
        for (id, service) in entries {
            services.insert(String::from_node(file, id)?, Container::from_node(file, service)?);
        }
        Ok(Self(services))
    }
}
