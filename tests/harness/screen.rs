//! A pseudo terminal in the place of a person's.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// The longest silence before a test gives up.
const LIMIT: Duration = Duration::from_mins(1);

/// Both ends of a pseudo terminal of 60 columns: the person's, and that of the programs.
pub fn pseudo_terminal() -> (File, OwnedFd) {
    let screen = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a pseudo terminal");
    grantpt(&screen).expect("granted");
    unlockpt(&screen).expect("unlocked");
    let name = ptsname(&screen, Vec::new()).expect("a name");
    let terminal =
        open(name.as_c_str(), OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).expect("the terminal opens");
    let size = Winsize {
        ws_row: 24,
        ws_col: 60,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(&terminal, size).expect("resized");
    (screen.into(), terminal)
}

/// The command in a session of its own, whose terminal is its standard input.
#[expect(clippy::disallowed_methods, reason = "it starts the program under test")]
pub fn in_session(command: &Command) -> Command {
    let mut session = Command::new("setsid");
    session
        .arg("--ctty")
        .arg(command.get_program())
        .args(command.get_args());
    session.env_clear();
    for (name, value) in command.get_envs() {
        session.env(name, value.expect("a value"));
    }
    session.current_dir(command.get_current_dir().expect("a directory"));
    session
}

/// A program that a person has started at a terminal, which is its controlling terminal.
pub struct Session {
    child: Child,
    keyboard: File,
    chunks: Receiver<Vec<u8>>,
    shown: String,
    /// The first bytes of a character whose others have not come yet.
    part: Vec<u8>,
    /// How much of what was shown has been waited for.
    seen: usize,
}

impl Session {
    /// Starts a program at a terminal of its own.
    pub fn start(program: &Command) -> Self {
        let (screen, terminal) = pseudo_terminal();
        let stdio = || Stdio::from(terminal.try_clone().expect("a descriptor"));
        let mut command = in_session(program);
        command.stdin(stdio()).stdout(stdio()).stderr(stdio());
        let child = command.spawn().expect("setsid starts");
        drop((command, terminal));
        let (sender, chunks) = sync_channel(1024);
        let mut output = screen.try_clone().expect("a descriptor");
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            // A terminal that nobody writes to any more answers with an error.
            while let Ok(length @ 1..) = output.read(&mut buffer) {
                if sender.send(buffer[..length].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self {
            child,
            keyboard: screen,
            chunks,
            shown: String::new(),
            part: Vec::new(),
            seen: 0,
        }
    }

    /// Waits until a text is shown behind what was waited for before.
    #[track_caller]
    pub fn wait_for(&mut self, text: &str) -> &mut Self {
        loop {
            if let Some(at) = self.shown[self.seen..].find(text) {
                self.seen += at + text.len();
                return self;
            }
            match self.chunks.recv_timeout(LIMIT) {
                Ok(chunk) => self.keep(&chunk),
                Err(error) => {
                    let shown = self.shown.clone();
                    self.kill();
                    panic!("{text:?} did not come ({error}):\n{shown}");
                }
            }
        }
    }

    /// Types keys.
    pub fn type_keys(&mut self, keys: &str) -> &mut Self {
        self.keyboard.write_all(keys.as_bytes()).expect("a keyboard");
        self
    }

    /// The person's end of the terminal, which stays when the program has ended.
    pub fn keyboard(&self) -> File {
        self.keyboard.try_clone().expect("a descriptor")
    }

    /// The id of the program.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for the end; yields the exit code and all that was shown.
    #[track_caller]
    pub fn finish(mut self) -> (Option<i32>, String) {
        loop {
            match self.chunks.recv_timeout(LIMIT) {
                Ok(chunk) => self.keep(&chunk),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    self.kill();
                    panic!("no end:\n{}", self.shown);
                }
            }
        }
        let code = self.child.wait().expect("the process ends").code();
        (code, self.shown)
    }

    fn keep(&mut self, chunk: &[u8]) {
        self.part.extend_from_slice(chunk);
        // The terminal hands out bytes, and a chunk may end within a character.
        let whole = match std::str::from_utf8(&self.part) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => self.part.len(),
        };
        let bytes: Vec<u8> = self.part.drain(..whole).collect();
        self.shown
            .push_str(&String::from_utf8_lossy(&bytes).replace('\r', ""));
    }

    fn kill(&mut self) {
        self.child.kill().expect("the process is ours");
    }
}
