//! Containers of jobs: what is wrong with an image can often be told before it is evaluated.

use crate::model::diagnostic::Diagnostics;
use crate::model::{Node, NodeKind};

const DOCKER: &str = "docker://";

/// An image without the prefix that it may have.
pub(in crate::model) fn trim(image: &str) -> &str {
    image.strip_prefix(DOCKER).unwrap_or(image)
}

/// Checks `container`: an empty image means that there is none, but a prefix needs an image after it.
pub(super) fn check(node: &Node, errors: &mut Diagnostics) {
    check_image(node, false, errors);
}

/// Checks `services`, each of which needs an image.
pub(super) fn check_services(node: &Node, errors: &mut Diagnostics) {
    if node.has_expression() {
        return;
    }
    for (_, service) in node.entries() {
        check_image(service, true, errors);
    }
}

fn check_image(node: &Node, is_service: bool, errors: &mut Diagnostics) {
    if node.has_expression() {
        return;
    }
    let image = match node.kind {
        NodeKind::Mapping(_) => node.get("image").and_then(Node::as_str),
        _ => node.as_str(),
    };
    let image = image.unwrap_or_default();
    if trim(image).is_empty() && (is_service || !image.is_empty()) {
        errors.error(node.position, "Container image cannot be empty");
    }
}
