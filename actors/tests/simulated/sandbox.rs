//! Sandboxes whose processes print rows in simulated time.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use gantry_actors::engine::backend::{
    BoxFuture, Command, Error, Exit, Layout, Orphan, Output, Process, ReadError, Sandbox, Signal, Started,
};
use gantry_actors::engine::plan::JobPlan;
use gantry_actors::job::Sandboxes;
use tokio::sync::watch;
use tokio::time::sleep;

/// Makes sandboxes, and counts them.
#[derive(Default)]
pub struct SimulatedSandboxes {
    made: AtomicUsize,
    /// How long it takes to make one.
    takes: Duration,
}

impl SimulatedSandboxes {
    /// Sandboxes that take their time to be made.
    pub fn slow(takes: Duration) -> Self {
        Self {
            takes,
            ..Self::default()
        }
    }

    pub fn made(&self) -> usize {
        self.made.load(Ordering::SeqCst)
    }
}

impl Sandboxes for SimulatedSandboxes {
    fn create<'a>(&'a self, _: &'a JobPlan) -> BoxFuture<'a, Result<Arc<dyn Sandbox>, String>> {
        Box::pin(async {
            self.made.fetch_add(1, Ordering::SeqCst);
            sleep(self.takes).await;
            let layout = Layout {
                workspace: "/w".to_owned(),
                runner_workspace: "/".to_owned(),
                temp: "/t".to_owned(),
                home: "/h".to_owned(),
                tool_cache: "/tools".to_owned(),
                actions: "/a".to_owned(),
                file_commands: "/t/f".to_owned(),
                workflow: "/t/w".to_owned(),
                os: "Linux",
                arch: "X64",
            };
            Ok(Arc::new(Simulated { layout }) as Arc<dyn Sandbox>)
        })
    }
}

/// Processes print `row FROM` to `row TO`, one every `EVERY` milliseconds, padded to `WIDTH`; then they wait for `REST`
/// seconds and end.
struct Simulated {
    layout: Layout,
}

fn ready<'a, T: Send + 'a>(value: T) -> BoxFuture<'a, T> {
    Box::pin(std::future::ready(value))
}

impl Sandbox for Simulated {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn base_environment(&self) -> &[(String, String)] {
        &[]
    }

    fn start(&self, command: Command) -> BoxFuture<'_, Result<Started, Error>> {
        let number = |name: &str| {
            let last = command.env.iter().rev().find(|(other, _)| other == name);
            last.map_or(0, |(_, value)| value.parse::<u64>().unwrap())
        };
        let (sender, exit) = watch::channel(None);
        let sender = Arc::new(sender);
        let output = Printer {
            rows: number("FROM")..number("TO"),
            every: Duration::from_millis(number("EVERY")),
            rest: Duration::from_secs(number("REST")),
            width: usize::try_from(number("WIDTH")).unwrap(),
            exit: exit.clone(),
            sender: sender.clone(),
        };
        ready(Ok(Started {
            output: Box::new(output),
            process: Box::new(SimulatedProcess { exit, sender }),
        }))
    }

    fn find_program<'a>(&'a self, name: &'a str, _: &'a str) -> BoxFuture<'a, Option<String>> {
        ready(Some(format!("/bin/{name}")))
    }

    fn write_file<'a>(&'a self, _: &'a str, _: &'a [u8]) -> BoxFuture<'a, Result<(), Error>> {
        ready(Ok(()))
    }

    fn read_file<'a>(&'a self, _: &'a str, _: u64) -> BoxFuture<'a, Result<Option<Vec<u8>>, ReadError>> {
        ready(Ok(None))
    }

    fn put_tree<'a>(&'a self, _: &'a Path, _: &'a str) -> BoxFuture<'a, Result<(), Error>> {
        ready(Ok(()))
    }

    fn remove_file<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<(), Error>> {
        ready(Ok(()))
    }

    fn is_dir<'a>(&'a self, _: &'a str) -> BoxFuture<'a, bool> {
        ready(true)
    }

    fn hash_files(&self, _: Vec<String>) -> BoxFuture<'_, Result<String, String>> {
        ready(Ok(String::new()))
    }

    fn end_orphans(&self) -> BoxFuture<'_, Vec<Orphan>> {
        ready(Vec::new())
    }

    fn remove(&self) -> BoxFuture<'_, Result<(), Error>> {
        ready(Ok(()))
    }
}

struct Printer {
    rows: std::ops::Range<u64>,
    every: Duration,
    rest: Duration,
    width: usize,
    exit: watch::Receiver<Option<Exit>>,
    sender: Arc<watch::Sender<Option<Exit>>>,
}

impl Output for Printer {
    fn read<'a>(&'a mut self, buffer: &'a mut Vec<u8>) -> BoxFuture<'a, io::Result<usize>> {
        Box::pin(async {
            let is_last = self.rows.is_empty();
            let pause = if is_last { self.rest } else { self.every };
            tokio::select! {
                biased;
                _ = self.exit.wait_for(Option::is_some) => return Ok(0),
                () = sleep(pause) => {}
            }
            if is_last {
                self.sender.send_replace(Some(Exit {
                    code: 0,
                    signal: None,
                }));
                return Ok(0);
            }
            let row = format!("row {}", self.rows.start);
            let row = format!("{row:<width$}\n", width = self.width);
            self.rows.start += 1;
            buffer.extend_from_slice(row.as_bytes());
            Ok(row.len())
        })
    }
}

struct SimulatedProcess {
    exit: watch::Receiver<Option<Exit>>,
    sender: Arc<watch::Sender<Option<Exit>>>,
}

impl Process for SimulatedProcess {
    fn wait(&mut self) -> BoxFuture<'_, Result<Exit, Error>> {
        Box::pin(async { Ok(self.exit.wait_for(Option::is_some).await.unwrap().unwrap()) })
    }

    fn signal(&self, _: Signal) -> BoxFuture<'_, ()> {
        self.sender.send_if_modified(|exit| {
            let first = exit.is_none();
            if first {
                *exit = Some(Exit {
                    code: 130,
                    signal: Some(2),
                });
            }
            first
        });
        ready(())
    }
}
