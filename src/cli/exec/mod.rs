//! `gantry exec`: runs the workflows of a directory on this machine.

mod actions;
mod facts;
mod git;
mod given;
mod host;
mod list;
mod place;
mod runs;
mod select;
mod watch;
mod witness;

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, anyhow};
use gantry_actors::engine::model::Workflow;
use gantry_actors::engine::plan::Conclusion;
use gantry_actors::engine::run::Settings;
use gantry_actors::local::{Options, PlannedRun};

use super::ExecFlags;
use super::exit::{Exit, Result, usage};
use super::sources::Sources;
use crate::config::Config;
use crate::render::{Json, Lines, Renderer, Screen, Style, Tree, can_redraw};
use facts::LocalEvent;
use git::Repository;
use given::Given;
use place::{Place, Places};
use select::{Filtered, Selection};
use witness::Witness;
pub use witness::records;

/// As many jobs run at the same time even on a small machine.
const MIN_CAPACITY: usize = 4;

/// Runs the workflows that the event starts.
///
/// # Errors
/// A flag is wrong, there is no workflow, or the run could not be done.
pub fn run(flags: &ExecFlags, config: &Config, screen: &Screen) -> Result {
    let directory = flags.directory.canonicalize().map_err(|error| {
        usage(anyhow!(error).context(format!("no directory {}", flags.directory.display())))
    })?;
    let places = place::read(&flags.image)?;
    let given = given::collect(flags, config, &directory, &given::Sources::process())?;
    let payload = select::payload(flags, &directory)?;
    let access = actions::access(flags, config)?;
    let mut sources = Sources::new(&directory);
    let Selection { workflows, broken } = select::workflows(flags, &directory, &mut sources)?;
    if flags.list {
        list(&workflows, flags.json).context("cannot write to stdout")?;
        return Ok(if broken == 0 { Exit::Success } else { Exit::Failure });
    }
    let name = select::event_name(flags, &workflows);
    let started = select::started(flags, &workflows, &name)?;
    let repository = Repository::of(&directory);
    let event = LocalEvent::new(name, payload, &repository, &directory);
    // Without a payload only the event's name is known, and -j asks for a job whatever the filters say.
    let started = if event.is_given && flags.job.is_none() {
        select::filtered(started, &event.filter_facts(&repository))
    } else {
        Filtered {
            workflows: started,
            broken: 0,
        }
    };
    sources.fetch_with(actions::workflows(access.clone(), &given.secrets));
    let planner = runs::Planner {
        directory: &directory,
        repository: &repository,
        event: &event,
        given: &given,
        only: flags.job.as_deref(),
    };
    let runs = planner.plan_all(&started.workflows, &mut sources)?;
    let all_run = broken + started.broken == 0 && runs.len() == started.workflows.len();
    if runs.is_empty() {
        return Ok(if all_run { Exit::Success } else { Exit::Failure });
    }
    host_only(&places)?;
    let witness = Arc::new(Witness::new(&directory, &event.name, &given.secrets));
    let mut options = options(flags, config, &directory, given, runs);
    options.settings.actions = Some(access);
    options.settings.observer = Some(witness.clone());
    let ended = watch::execute(options, renderer(flags, screen), screen, &witness)?;
    witness.finish();
    Ok(exit(&ended, all_run))
}

fn list(workflows: &[Arc<Workflow>], json: bool) -> io::Result<()> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    list::write(&mut out, workflows, json)?;
    out.flush()
}

/// Until there is a container backend, this machine is the only place.
fn host_only(places: &Places) -> Result<()> {
    let image = places
        .all
        .iter()
        .chain(places.labels.values())
        .find_map(|place| match place {
            Place::Image(image) => Some(image),
            Place::Host => None,
        });
    if let Some(image) = image {
        return Err(anyhow!("no container backend is available, so no job can run in {image}").into());
    }
    if places.all.is_none() {
        eprintln!("gantry: no container backend is available; jobs run on this machine, as with -i host");
    }
    Ok(())
}

fn options(
    flags: &ExecFlags,
    config: &Config,
    directory: &Path,
    given: Given,
    runs: Vec<PlannedRun>,
) -> Options {
    Options {
        runs,
        // Most jobs wait more than they compute.
        capacity: std::thread::available_parallelism()
            .map_or(MIN_CAPACITY, |cores| cores.get().max(MIN_CAPACITY)),
        sandboxes: Arc::new(host::sandboxes(config, directory)),
        settings: Settings {
            step_debug: flags.debug,
            env: given.env.into_iter().collect(),
            max_timeout: Some(config.runner.timeout.get()),
            local_checkout: !flags.no_skip_checkout,
            ..Settings::default()
        },
        runner_name: "gantry".to_owned(),
        secrets: given.secrets.into_iter().collect(),
    }
}

fn renderer(flags: &ExecFlags, screen: &Screen) -> Box<dyn Renderer> {
    let out = io::stdout();
    let style = Style::of(&out);
    // Whoever looks for mistakes with -d wants to see every row.
    let wants_rows = flags.plain || flags.debug;
    if flags.json {
        Box::new(Json::new(out))
    } else if wants_rows || !can_redraw(&out) {
        Box::new(Lines::new(out, style))
    } else {
        Box::new(Tree::new(screen.clone(), style))
    }
}

/// A run that was stopped counts as cancelled; else every workflow must have run and none may have failed.
fn exit(ended: &watch::Ended, all_run: bool) -> Exit {
    let failed = |conclusion: &Conclusion| !matches!(conclusion, Conclusion::Success | Conclusion::Skipped);
    if ended.stopped {
        Exit::Cancelled
    } else if !all_run || ended.conclusions.iter().any(failed) {
        Exit::Failure
    } else {
        Exit::Success
    }
}
