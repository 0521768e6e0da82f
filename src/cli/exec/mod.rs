//! `gantry exec`: runs the workflows of a directory on this machine.

mod actions;
mod containers;
mod dryrun;
mod facts;
mod feed;
mod git;
mod given;
mod graph;
mod host;
mod list;
mod place;
mod rerun;
mod runs;
mod select;
mod watch;
mod witness;

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, anyhow};
use gantry_actors::engine::action::ActionAccess;
use gantry_actors::engine::model::Workflow;
use gantry_actors::engine::plan::Conclusion;
use gantry_actors::engine::run::Settings;
use gantry_actors::local::{Options, PlannedRun};

use super::ExecFlags;
use super::exit::{Exit, Result, usage};
use super::sources::Sources;
use crate::config::Config;
use crate::hold::{self, Terminal};
use crate::render::{Json, Lines, Renderer, Screen, Style, Tree, can_redraw};
pub use containers::ContainerFlags;
use dryrun::Plan;
use facts::LocalEvent;
use git::Repository;
use given::Given;
pub use host::ToolCacheMode;
use place::{Place, Places};
use select::{Filtered, Selection};
use witness::Witness;
pub use witness::records;

/// As many jobs run at the same time even on a small machine.
const MIN_CAPACITY: usize = 4;

/// Runs the workflows that the event starts, once or after each change of the tree.
///
/// # Errors
/// A flag is wrong, there is no workflow, or the run could not be done.
pub fn run(flags: &ExecFlags, config: &Config, screen: &Screen) -> Result {
    let directory = flags.directory.canonicalize().map_err(|error| {
        usage(anyhow!(error).context(format!("no directory {}", flags.directory.display())))
    })?;
    for sentence in flags.containers.without_effect() {
        eprintln!("gantry: {sentence}");
    }
    let asks = flags.break_on.is_some();
    let terminal = asks.then(Terminal::open).transpose().map_err(|error| {
        usage(anyhow!(error).context("--break-on asks a person, and there is no terminal"))
    })?;
    let session = Session {
        flags,
        config,
        screen,
        places: place::read(&flags.image)?,
        instance: place::instance(flags)?,
        given: given::collect(flags, config, &directory, &given::Sources::process())?,
        access: actions::access(flags, config)?,
        directory: &directory,
        terminal,
    };
    if flags.watch {
        rerun::repeat(&directory, screen, || session.once())
    } else {
        session.once()
    }
}

/// What the command line has decided for every run.
struct Session<'a> {
    flags: &'a ExecFlags,
    config: &'a Config,
    screen: &'a Screen,
    directory: &'a Path,
    places: Places,
    instance: Option<String>,
    given: Given,
    access: ActionAccess,
    /// Where a person is asked about steps that fail.
    terminal: Option<Terminal>,
}

impl Session<'_> {
    /// Does once what the flags say.
    fn once(&self) -> Result {
        let Self { flags, directory, .. } = self;
        let payload = select::payload(flags, directory)?;
        let mut sources = Sources::new(directory);
        let Selection { workflows, broken } = select::workflows(flags, directory, &mut sources)?;
        if flags.list {
            print(|out| list::write(out, &workflows, flags.json))?;
            return Ok(success_if(broken == 0));
        }
        let name = select::event_name(flags, &workflows);
        let started = select::started(flags, &workflows, &name)?;
        let repository = Repository {
            instance: self.instance.clone(),
            ..Repository::of(directory)
        };
        let event = LocalEvent::new(name, payload, &repository, directory);
        // Without a payload only the event's name is known, and -j asks for a job whatever the filters say.
        let started = if event.is_given && flags.job.is_none() {
            select::filtered(started, &event.filter_facts(&repository))
        } else {
            Filtered {
                workflows: started,
                broken: 0,
            }
        };
        let only = flags.job.as_deref();
        let broken = broken + started.broken;
        if flags.graph {
            print(|out| graph::write(out, &started.workflows, only, flags.json))?;
            return Ok(success_if(broken == 0));
        }
        sources.fetch_with(actions::workflows(self.access.clone(), &self.given.secrets));
        let planner = runs::Planner {
            directory,
            repository: &repository,
            event: &event,
            given: &self.given,
            only,
        };
        if flags.dryrun {
            return dry_run(flags, &planner, &started.workflows, &mut sources, broken);
        }
        let runs = planner.plan_all(&started.workflows, &mut sources)?;
        let all_run = broken == 0 && runs.len() == started.workflows.len();
        if runs.is_empty() {
            return Ok(success_if(all_run));
        }
        host_only(&self.places)?;
        let witness = Witness::new(
            directory,
            &event.name,
            &self.given.secrets,
            flags.trace.as_deref(),
        )?;
        let ended = self.execute(runs, &Arc::new(witness))?;
        Ok(exit(&ended, all_run))
    }

    fn execute(&self, runs: Vec<PlannedRun>, witness: &Arc<Witness>) -> anyhow::Result<watch::Ended> {
        let mut options = self.options(runs);
        options.settings.observer = Some(witness.clone());
        let holds = self.terminal.clone().map(|terminal| {
            let (desk, holds) = hold::at(terminal);
            options.settings.breakpoint = Some(Arc::new(desk));
            holds
        });
        let show = watch::Show {
            renderer: renderer(self.flags, self.screen),
            screen: self.screen,
            holds,
            witness: witness.clone(),
        };
        let ended = watch::execute(options, show);
        // Also of a run that has lost its output something is kept.
        let kept = witness.finish();
        let ended = ended?;
        kept.map(|()| ended)
    }

    fn options(&self, runs: Vec<PlannedRun>) -> Options {
        let Self { flags, config, .. } = self;
        let given = self.given.clone();
        Options {
            runs,
            // Most jobs wait more than they compute.
            capacity: std::thread::available_parallelism()
                .map_or(MIN_CAPACITY, |cores| cores.get().max(MIN_CAPACITY)),
            sandboxes: Arc::new(host::sandboxes(flags, config, self.directory)),
            settings: Settings {
                step_debug: flags.debug,
                env: local_marks(flags).chain(given.env).collect(),
                unlisted: local_marks(flags).collect(),
                show_secrets: flags.insecure_secrets,
                max_timeout: Some(config.runner.timeout.get()),
                local_checkout: !flags.no_skip_checkout,
                actions: Some(self.access.clone()),
                ..Settings::default()
            },
            runner_name: "gantry".to_owned(),
            secrets: given.secrets.into_iter().collect(),
        }
    }
}

/// The variables by which workflows tell a local run; a variable that is given wins.
fn local_marks(flags: &ExecFlags) -> impl Iterator<Item = (String, String)> {
    let marks = [
        ("ACT", true),
        ("ACT_EXEC", true),
        ("ACT_SKIP_CHECKOUT", !flags.no_skip_checkout),
    ];
    let set = marks.into_iter().filter(|(_, is_set)| *is_set);
    set.map(|(name, _)| (name.to_owned(), "true".to_owned()))
}

/// Says what would run; a workflow or a job that cannot be planned is a failure.
fn dry_run(
    flags: &ExecFlags,
    planner: &runs::Planner<'_>,
    workflows: &[Arc<Workflow>],
    sources: &mut Sources,
    broken: usize,
) -> Result {
    let plans = planner.preview_all(workflows, sources)?;
    print(|out| {
        if flags.json {
            dryrun::write_json(out, &plans)
        } else {
            dryrun::write(out, &plans, &planner.event.name)
        }
    })?;
    let all_planned = broken == 0 && plans.len() == workflows.len();
    Ok(success_if(all_planned && plans.iter().all(Plan::is_sound)))
}

fn success_if(all_well: bool) -> Exit {
    if all_well { Exit::Success } else { Exit::Failure }
}

/// Lets something be written to stdout.
fn print(write: impl FnOnce(&mut io::BufWriter<io::StdoutLock<'_>>) -> io::Result<()>) -> anyhow::Result<()> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    write(&mut out)
        .and_then(|()| out.flush())
        .context("cannot write to stdout")
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
