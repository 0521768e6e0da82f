//! `gantry exec --graph`: which job waits for which.

use std::io::{self, Write};
use std::sync::Arc;

use gantry_actors::engine::model::{Job, JobBody, Workflow};
use serde::Serialize;

use super::list::{literal_name, stages};
use super::select::event_names;
use crate::render::diagnostic::printable;

/// All graphs as one object.
#[derive(Serialize)]
struct Graphs<'a> {
    workflows: Vec<Graph<'a>>,
}

/// The jobs of a workflow.
#[derive(Serialize)]
struct Graph<'a> {
    workflow: &'a str,
    file: &'a str,
    events: Vec<&'a str>,
    jobs: Vec<Node<'a>>,
}

/// A job and what it waits for.
#[derive(Serialize)]
struct Node<'a> {
    job: &'a str,
    name: &'a str,
    stage: usize,
    needs: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    calls: Option<String>,
    /// The need that is done last, below which the job is drawn: its place among the jobs.
    #[serde(skip)]
    parent: Option<usize>,
}

/// Writes the graphs as trees, or as one JSON object; of each only what the job `only` needs, if it is given.
///
/// # Errors
/// `out` cannot be written to.
pub fn write(
    out: &mut impl Write,
    workflows: &[Arc<Workflow>],
    only: Option<&str>,
    json: bool,
) -> io::Result<()> {
    let workflows: Vec<Graph<'_>> = workflows.iter().map(|workflow| graph(workflow, only)).collect();
    if json {
        serde_json::to_writer(&mut *out, &Graphs { workflows })?;
        return out.write_all(b"\n");
    }
    for (index, graph) in workflows.iter().enumerate() {
        if index > 0 {
            writeln!(out)?;
        }
        draw(out, graph)?;
    }
    Ok(())
}

fn graph<'a>(workflow: &'a Workflow, only: Option<&str>) -> Graph<'a> {
    let jobs: Vec<Arc<Job>> = workflow.jobs.clone();
    let stages = stages(&jobs);
    let wanted = wanted(&workflow.jobs, only);
    let kept: Vec<usize> = (0..workflow.jobs.len()).filter(|index| wanted[*index]).collect();
    let place = |id: &str| {
        kept.iter()
            .position(|index| workflow.jobs[*index].id.eq_ignore_ascii_case(id))
    };
    let node = |&index: &usize| {
        let job = &*workflow.jobs[index];
        let needs: Vec<&str> = job.needs.iter().map(|need| need.value.as_str()).collect();
        let parents = needs.iter().filter_map(|id| place(id));
        Node {
            job: &job.id,
            name: literal_name(job).unwrap_or(&job.id),
            stage: stages[index],
            // The latest need, and of several the first one that is written.
            parent: parents.rev().max_by_key(|place| stages[kept[*place]]),
            calls: match &job.body {
                JobBody::Call(call) => Some(call.uses.value.to_string()),
                JobBody::Steps(_) => None,
            },
            needs,
        }
    };
    Graph {
        workflow: workflow.name.as_deref().unwrap_or(&workflow.file),
        file: &workflow.file,
        events: event_names(workflow).collect(),
        jobs: kept.iter().map(node).collect(),
    }
}

/// Marks the job `only` and what it needs, directly or not; all jobs if there is no such job.
fn wanted(jobs: &[Arc<Job>], only: Option<&str>) -> Vec<bool> {
    let index = |id: &str| jobs.iter().position(|job| job.id.eq_ignore_ascii_case(id));
    let Some(start) = only.and_then(index) else {
        return vec![true; jobs.len()];
    };
    let mut wanted = vec![false; jobs.len()];
    let mut open = vec![start];
    while let Some(next) = open.pop() {
        if !std::mem::replace(&mut wanted[next], true) {
            open.extend(jobs[next].needs.iter().filter_map(|need| index(&need.value)));
        }
    }
    wanted
}

fn draw(out: &mut impl Write, graph: &Graph<'_>) -> io::Result<()> {
    let children = |parent: Option<usize>| -> Vec<usize> {
        let jobs = graph.jobs.iter().enumerate();
        jobs.filter(|(_, node)| node.parent == parent)
            .map(|(index, _)| index)
            .collect()
    };
    let Graph { workflow, file, .. } = graph;
    writeln!(
        out,
        "{}  ({}, on {})",
        line(workflow),
        line(file),
        line(&graph.events.join(", "))
    )?;
    // A stack takes the place of recursion: a chain of needs may be as long as the file allows.
    let mut open: Vec<(usize, String, bool)> = Vec::new();
    let push = |open: &mut Vec<(usize, String, bool)>, parent: Option<usize>, indent: &str| {
        let below = children(parent);
        let last = below.len().saturating_sub(1);
        let entries = below.into_iter().enumerate().rev();
        open.extend(entries.map(|(at, child)| (child, indent.to_owned(), at == last)));
    };
    push(&mut open, None, "");
    while let Some((index, indent, is_last)) = open.pop() {
        let (branch, below) = if is_last {
            ("└─ ", "   ")
        } else {
            ("├─ ", "│  ")
        };
        writeln!(out, "{indent}{branch}{}", label(&graph.jobs[index], &graph.jobs))?;
        push(&mut open, Some(index), &format!("{indent}{below}"));
    }
    Ok(())
}

fn label(node: &Node<'_>, jobs: &[Node<'_>]) -> String {
    let mut text = node.job.to_owned();
    if node.name != node.job {
        text.push_str(": ");
        text.push_str(node.name);
    }
    if let Some(called) = &node.calls {
        text.push_str("  calls ");
        text.push_str(called);
    }
    let above = node.parent.map(|parent| jobs[parent].job);
    let also: Vec<&str> = node
        .needs
        .iter()
        .copied()
        .filter(|need| above.is_none_or(|above| !above.eq_ignore_ascii_case(need)))
        .collect();
    if !also.is_empty() {
        text.push_str("  also needs ");
        text.push_str(&also.join(", "));
    }
    line(&text)
}

fn line(text: &str) -> String {
    printable(text).replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "
name: ci
on: [push, pull_request]
jobs:
  lint: {runs-on: x, steps: [{run: x}]}
  build: {name: Build it, runs-on: x, steps: [{run: x}]}
  test: {needs: build, uses: ./.github/workflows/c.yml}
  docs: {needs: build, runs-on: x, steps: [{run: x}]}
  ship: {needs: [lint, docs, test], runs-on: x, steps: [{run: x}]}
";

    fn graphs(text: &str, only: Option<&str>, json: bool) -> String {
        let workflow = Workflow::parse("w.yml", text).expect("valid");
        let mut out = Vec::new();
        write(&mut out, &[Arc::new(workflow)], only, json).expect("a vector takes all");
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn a_job_stands_once_below_its_latest_need() {
        let want = "\
ci  (w.yml, on push, pull_request)
├─ lint
└─ build: Build it
   ├─ test  calls ./.github/workflows/c.yml
   └─ docs
      └─ ship  also needs lint, test
";
        assert_eq!(graphs(TEXT, None, false), want);
        let want = "\
ci  (w.yml, on push, pull_request)
└─ build: Build it
   └─ docs
";
        assert_eq!(graphs(TEXT, Some("docs"), false), want);
    }

    #[test]
    fn programs_get_one_object() {
        let text = graphs(TEXT, Some("test"), true);
        let want = r#"{"workflows":[{"workflow":"ci","file":"w.yml","events":["push","pull_request"],"jobs":[{"job":"build","name":"Build it","stage":0,"needs":[]},{"job":"test","name":"test","stage":1,"needs":["build"],"calls":"./.github/workflows/c.yml"}]}]}"#;
        assert_eq!(text.trim_end(), want);
    }

    #[test]
    fn a_long_chain_is_drawn() {
        let mut text = "on: push\njobs:\n  j0: {runs-on: x, steps: [{run: x}]}\n".to_owned();
        for index in 1..200 {
            let needs = index - 1;
            text.extend([format!(
                "  j{index}: {{needs: j{needs}, runs-on: x, steps: [{{run: x}}]}}\n"
            )]);
        }
        assert_eq!(graphs(&text, None, false).lines().count(), 201);
    }
}
