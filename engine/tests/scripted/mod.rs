//! A sandbox whose processes are scripts of time and signals, for tests in simulated time.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gantry_engine::backend::{
    BoxFuture, Command, Error, Exit, Layout, Orphan, Output, Process, ReadError, Sandbox, Signal, Started,
};
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

/// Processes exit with 0 after `TAKES` seconds, or at the signal that `OBEYS` names: `interrupt`, `terminate`, `kill`.
pub struct Scripted {
    layout: Layout,
    files: HashMap<String, String>,
    sent: Arc<Mutex<Vec<Sent>>>,
}

/// A signal that a process has got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sent {
    /// Milliseconds since the process was started.
    pub after: u64,
    pub signal: Signal,
}

impl Scripted {
    /// A sandbox whose workspace holds these files.
    pub fn new<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
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
        let files = files
            .into_iter()
            .map(|(path, text)| (path.replacen("./", "/w/", 1), text.to_owned()));
        Self {
            layout,
            files: files.collect(),
            sent: Arc::default(),
        }
    }

    /// The signals so far, in order.
    pub fn sent(&self) -> Vec<Sent> {
        self.sent.lock().unwrap().clone()
    }
}

fn ready<'a, T: Send + 'a>(value: T) -> BoxFuture<'a, T> {
    Box::pin(std::future::ready(value))
}

impl Sandbox for Scripted {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn base_environment(&self) -> &[(String, String)] {
        &[]
    }

    fn start(&self, command: Command) -> BoxFuture<'_, Result<Started, Error>> {
        let variable = |name: &str| {
            let last = command.env.iter().rev().find(|(other, _)| other == name);
            last.map_or("", |(_, value)| value).to_owned()
        };
        let (ended, exit) = watch::channel(None);
        let ended = Arc::new(ended);
        let life = Duration::from_secs(variable("TAKES").parse().unwrap());
        let end = ended.clone();
        let alive = tokio::spawn(async move {
            sleep(life).await;
            end.send_replace(Some(Exit {
                code: 0,
                signal: None,
            }));
        });
        let process = ScriptedProcess {
            obeys: match variable("OBEYS").as_str() {
                "interrupt" => Signal::Interrupt,
                "terminate" => Signal::Terminate,
                _ => Signal::Kill,
            },
            started: Instant::now(),
            sent: self.sent.clone(),
            ended,
            exit: exit.clone(),
            alive: alive.abort_handle(),
        };
        ready(Ok(Started {
            output: Box::new(Silence(exit)),
            process: Box::new(process),
        }))
    }

    fn find_program<'a>(&'a self, name: &'a str, _: &'a str) -> BoxFuture<'a, Option<String>> {
        ready(Some(format!("/bin/{name}")))
    }

    fn write_file<'a>(&'a self, _: &'a str, _: &'a [u8]) -> BoxFuture<'a, Result<(), Error>> {
        ready(Ok(()))
    }

    fn read_file<'a>(&'a self, path: &'a str, _: u64) -> BoxFuture<'a, Result<Option<Vec<u8>>, ReadError>> {
        ready(Ok(self.files.get(path).map(|text| text.clone().into_bytes())))
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

/// An output that ends with its process.
struct Silence(watch::Receiver<Option<Exit>>);

impl Output for Silence {
    fn read<'a>(&'a mut self, _: &'a mut Vec<u8>) -> BoxFuture<'a, io::Result<usize>> {
        Box::pin(async {
            self.0.wait_for(Option::is_some).await.unwrap();
            Ok(0)
        })
    }
}

struct ScriptedProcess {
    obeys: Signal,
    started: Instant,
    sent: Arc<Mutex<Vec<Sent>>>,
    ended: Arc<watch::Sender<Option<Exit>>>,
    exit: watch::Receiver<Option<Exit>>,
    alive: tokio::task::AbortHandle,
}

impl Process for ScriptedProcess {
    fn wait(&mut self) -> BoxFuture<'_, Result<Exit, Error>> {
        Box::pin(async { Ok(self.exit.wait_for(Option::is_some).await.unwrap().unwrap()) })
    }

    fn signal(&self, signal: Signal) -> BoxFuture<'_, ()> {
        let after = u64::try_from(self.started.elapsed().as_millis()).unwrap();
        self.sent.lock().unwrap().push(Sent { after, signal });
        if signal >= self.obeys {
            let number = match signal {
                Signal::Interrupt => 2,
                Signal::Terminate => 15,
                Signal::Kill => 9,
            };
            self.ended.send_replace(Some(Exit {
                code: 128 + number,
                signal: Some(number),
            }));
        }
        ready(())
    }
}

impl Drop for ScriptedProcess {
    fn drop(&mut self) {
        self.alive.abort();
    }
}
