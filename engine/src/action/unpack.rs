//! From a commit to files: every entry is checked before it is made, because the tree is a stranger's.
//!
//! Files come from git's objects and not from a checkout or an archive of git's, so that attributes of the tree have no
//! say: no filter runs, nothing is expanded or left out. Links are made last, when nothing is written any more that
//! could go through one.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use super::error::Refusal;

/// Entries of a tree; the largest actions with all their modules have a tenth of it.
const MAX_ENTRIES: usize = 200_000;

/// Bytes of all files of a tree.
const MAX_BYTES: u64 = 2 * 1024 * 1024 * 1024;

/// Bytes of a path, as on Linux.
const MAX_PATH: usize = 4096;

/// Links of a tree.
const MAX_LINKS: usize = 10_000;

/// Steps of following one link; the system itself gives up earlier.
const MAX_STEPS: usize = 4096;

/// Why a tree was not unpacked.
#[derive(Debug)]
pub(super) enum Stop {
    /// An entry is not acceptable.
    Refused(PathBuf, Refusal),
    /// The tree is beyond a measure.
    TooLarge(&'static str),
    /// Git said something that makes no sense.
    Garbled(&'static str),
    /// An object cannot be brought from git to the disk.
    Copy(io::Error),
    /// The file system refused.
    Disk(PathBuf, io::Error),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    File { executable: bool },
    Link,
    Submodule,
}

/// An entry of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    kind: Kind,
    object: String,
    path: PathBuf,
}

/// Where the content of files comes from.
pub(super) trait Objects {
    /// Copies an object to `out`, at most `limit` bytes, and returns how many bytes it has.
    fn copy(&mut self, object: &str, limit: u64, out: &mut dyn Write) -> Result<u64, Stop>;
}

/// Reads what `git ls-tree -r -z` prints.
pub(super) fn read_listing(listing: &[u8]) -> Result<Vec<Entry>, Stop> {
    let lines = listing.split(|byte| *byte == 0).filter(|line| !line.is_empty());
    let mut entries = Vec::new();
    for line in lines {
        if entries.len() >= MAX_ENTRIES {
            return Err(Stop::TooLarge("200000 entries"));
        }
        entries.push(read_entry(line)?);
    }
    Ok(entries)
}

fn read_entry(line: &[u8]) -> Result<Entry, Stop> {
    const NONSENSE: Stop = Stop::Garbled("git lists the tree in an unknown form");
    let tab = line.iter().position(|byte| *byte == b'\t').ok_or(NONSENSE)?;
    let (head, path) = line.split_at(tab);
    let path = Path::new(OsStr::from_bytes(path.get(1..).unwrap_or_default()));
    let head = std::str::from_utf8(head).map_err(|_| NONSENSE)?;
    let mut words = head.split_ascii_whitespace();
    let (Some(mode), Some(_), Some(object)) = (words.next(), words.next(), words.next()) else {
        return Err(NONSENSE);
    };
    let kind = match mode {
        "100644" | "100664" => Kind::File { executable: false },
        "100755" => Kind::File { executable: true },
        "120000" => Kind::Link,
        "160000" => Kind::Submodule,
        other => return Err(Stop::Refused(path.to_owned(), Refusal::Mode(other.to_owned()))),
    };
    check_path(path).map_err(|refusal| Stop::Refused(path.to_owned(), refusal))?;
    Ok(Entry {
        kind,
        object: object.to_owned(),
        path: path.to_owned(),
    })
}

/// `Path::components` would hide `.` and doubled slashes.
fn check_path(path: &Path) -> Result<(), Refusal> {
    let bytes = path.as_os_str().as_bytes();
    if bytes.len() >= MAX_PATH {
        return Err(Refusal::TooLong);
    }
    for part in bytes.split(|byte| *byte == b'/') {
        if matches!(part, b"" | b"." | b"..") {
            return Err(Refusal::Outside);
        }
        if part.eq_ignore_ascii_case(b".git") {
            return Err(Refusal::Repository);
        }
    }
    Ok(())
}

/// Makes the tree in the existing, empty directory `target` and returns its bytes; nobody can write to the result.
pub(super) fn unpack(entries: &[Entry], objects: &mut dyn Objects, target: &Path) -> Result<u64, Stop> {
    let mut making = Making {
        target,
        directories: BTreeSet::new(),
        links: BTreeMap::new(),
        bytes: 0,
    };
    for entry in entries {
        making.entry(entry, objects)?;
    }
    making.make_links()?;
    making.close_directories()?;
    Ok(making.bytes)
}

struct Making<'a> {
    target: &'a Path,
    directories: BTreeSet<PathBuf>,
    links: BTreeMap<PathBuf, PathBuf>,
    bytes: u64,
}

impl Making<'_> {
    fn entry(&mut self, entry: &Entry, objects: &mut dyn Objects) -> Result<(), Stop> {
        if let Some(parent) = entry.path.parent() {
            self.directory(parent)?;
        }
        match entry.kind {
            Kind::File { executable } => self.file(entry, executable, objects),
            Kind::Link => self.link(entry, objects),
            // Its files are in another repository.
            Kind::Submodule => self.directory(&entry.path),
        }
    }

    fn directory(&mut self, path: &Path) -> Result<(), Stop> {
        let mut missing = Vec::new();
        for ancestor in path.ancestors() {
            if ancestor.as_os_str().is_empty() || self.directories.contains(ancestor) {
                break;
            }
            missing.push(ancestor);
        }
        for ancestor in missing.into_iter().rev() {
            let made = DirBuilder::new().mode(0o755).create(self.target.join(ancestor));
            made.map_err(|error| collision(ancestor, error))?;
            self.directories.insert(ancestor.to_owned());
        }
        Ok(())
    }

    fn file(&mut self, entry: &Entry, executable: bool, objects: &mut dyn Objects) -> Result<(), Stop> {
        let path = self.target.join(&entry.path);
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(if executable { 0o555 } else { 0o444 })
            .open(&path)
            .map_err(|error| collision(&entry.path, error))?;
        self.bytes += objects.copy(&entry.object, MAX_BYTES - self.bytes, &mut file)?;
        Ok(())
    }

    fn link(&mut self, entry: &Entry, objects: &mut dyn Objects) -> Result<(), Stop> {
        if self.links.len() >= MAX_LINKS {
            return Err(Stop::TooLarge("10000 links"));
        }
        let mut target = Vec::new();
        objects.copy(&entry.object, MAX_PATH as u64, &mut target)?;
        if target.is_empty() || target.contains(&0) {
            return Err(Stop::Refused(entry.path.clone(), Refusal::Link));
        }
        let target = PathBuf::from(OsStr::from_bytes(&target));
        if self.links.insert(entry.path.clone(), target).is_some() {
            return Err(Stop::Refused(entry.path.clone(), Refusal::Twice));
        }
        Ok(())
    }

    fn make_links(&self) -> Result<(), Stop> {
        for (path, target) in &self.links {
            if leaves(&self.links, path) {
                return Err(Stop::Refused(path.clone(), Refusal::Link));
            }
            symlink(target, self.target.join(path)).map_err(|error| collision(path, error))?;
        }
        Ok(())
    }

    fn close_directories(&self) -> Result<(), Stop> {
        for path in &self.directories {
            let path = self.target.join(path);
            fs::set_permissions(&path, Permissions::from_mode(0o555))
                .map_err(|error| Stop::Disk(path, error))?;
        }
        Ok(())
    }
}

/// Something stands there already: a tree may name a path twice, and a file system may ignore case.
fn collision(path: &Path, error: io::Error) -> Stop {
    match error.kind() {
        io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => {
            Stop::Refused(path.to_owned(), Refusal::Twice)
        }
        io::ErrorKind::InvalidFilename => Stop::Refused(path.to_owned(), Refusal::TooLong),
        _ => Stop::Disk(path.to_owned(), error),
    }
}

/// Follows a link as the system would, through the other links of the tree, and says whether it gets out.
///
/// Reading the target alone is not enough: behind a link to `.` even `link/..` is outside.
fn leaves(links: &BTreeMap<PathBuf, PathBuf>, link: &Path) -> bool {
    let mut place: PathBuf = link.to_owned();
    let mut open: Vec<Vec<u8>> = Vec::new();
    let mut steps = 0;
    loop {
        if let Some(target) = links.get(&place) {
            let target = target.as_os_str().as_bytes();
            if target.starts_with(b"/") {
                return true;
            }
            place.pop();
            open.extend(target.split(|byte| *byte == b'/').rev().map(<[u8]>::to_vec));
        }
        steps += 1;
        if steps > MAX_STEPS || open.len() > MAX_PATH {
            // A circle, or as good as one.
            return true;
        }
        match open.pop().as_deref() {
            None => return false,
            Some(b"" | b".") => {}
            Some(b"..") => {
                if !place.pop() {
                    return true;
                }
            }
            Some(part) => place.push(OsStr::from_bytes(part)),
        }
    }
}

/// Objects as `git cat-file --batch` hands them out.
pub(super) struct Batch<W, R> {
    requests: W,
    answers: BufReader<R>,
}

impl<W: Write, R: Read> Batch<W, R> {
    /// Talks over the two pipes.
    pub fn new(requests: W, answers: R) -> Self {
        Self {
            requests,
            answers: BufReader::with_capacity(64 * 1024, answers),
        }
    }
}

impl<W: Write, R: Read> Objects for Batch<W, R> {
    fn copy(&mut self, object: &str, limit: u64, out: &mut dyn Write) -> Result<u64, Stop> {
        const NONSENSE: Stop = Stop::Garbled("git answers in an unknown form");
        self.requests
            .write_all(format!("{object}\n").as_bytes())
            .and_then(|()| self.requests.flush())
            .map_err(Stop::Copy)?;
        let mut head = String::new();
        (&mut self.answers)
            .take(256)
            .read_line(&mut head)
            .map_err(Stop::Copy)?;
        let mut words = head.split_ascii_whitespace();
        let (Some(_), Some("blob"), Some(size)) = (words.next(), words.next(), words.next()) else {
            return Err(Stop::Garbled("an object of the commit is missing"));
        };
        let size: u64 = size.parse().map_err(|_| NONSENSE)?;
        if size > limit {
            return Err(Stop::TooLarge("2 GiB, or a link of more than 4 KiB"));
        }
        let copied = io::copy(&mut (&mut self.answers).take(size), out).map_err(Stop::Copy)?;
        let mut end = [0];
        self.answers.read_exact(&mut end).map_err(Stop::Copy)?;
        if copied == size { Ok(size) } else { Err(NONSENSE) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Objects whose content is their name.
    struct Names;

    impl Objects for Names {
        fn copy(&mut self, object: &str, _: u64, out: &mut dyn Write) -> Result<u64, Stop> {
            out.write_all(object.as_bytes()).unwrap();
            Ok(object.len() as u64)
        }
    }

    /// Mode, object and path of each entry.
    type Rows<'a> = &'a [(&'a str, &'a str, &'a str)];

    fn unpack_rows(rows: Rows<'_>, target: &Path) -> Result<u64, String> {
        let listing: Vec<u8> = rows
            .iter()
            .flat_map(|(mode, object, path)| format!("{mode} x {object}\t{path}\0").into_bytes())
            .collect();
        let told = |stop| match stop {
            Stop::Refused(path, refusal) => format!("{} {refusal}", path.display()),
            other => format!("{other:?}"),
        };
        let entries = read_listing(&listing).map_err(told)?;
        unpack(&entries, &mut Names, target).map_err(told)
    }

    #[test]
    fn files_links_and_submodules_are_made() {
        let target = tempfile::tempdir().unwrap();
        let rows = [
            ("100644", "one", "a/b/file"),
            ("100755", "two", "a/run"),
            ("120000", "../a/run", "l/inside"),
            ("120000", ".", "l/here"),
            ("120000", "missing", "dangling"),
            ("160000", "x", "module"),
        ];
        assert_eq!(unpack_rows(&rows, target.path()), Ok(6));
        let mode = |path: &str| {
            let metadata = target.path().join(path).symlink_metadata().unwrap();
            metadata.permissions().mode() & 0o7777
        };
        assert_eq!(
            [mode("a/b/file"), mode("a/run"), mode("a"), mode("module")],
            [0o444, 0o555, 0o555, 0o555]
        );
        assert_eq!(fs::read(target.path().join("l/inside")).unwrap(), b"two");
    }

    #[test]
    fn hostile_trees_are_refused() {
        let file = |path| ("100644", "x", path);
        let link = |target, path| ("120000", target, path);
        let outside = "is a path that leaves the tree";
        let leaving = "is a link that leaves the tree";
        let twice = "is there twice";
        let rows: [(Rows<'_>, &str, &str); 16] = [
            (&[file("../x")], "../x", outside),
            (&[file("/etc/x")], "/etc/x", outside),
            (&[file("a/./x")], "a/./x", outside),
            (&[file("a//x")], "a//x", outside),
            (
                &[file("a/.GIT/config")],
                "a/.GIT/config",
                "has the name of a repository's own directory",
            ),
            (
                &[("020000", "x", "null")],
                "null",
                "is neither a file nor a link (mode 020000)",
            ),
            (
                &[("104755", "x", "s")],
                "s",
                "is neither a file nor a link (mode 104755)",
            ),
            (&[file("a"), file("a")], "a", twice),
            (&[file("a"), file("a/b")], "a", twice),
            (&[link("b", "a"), file("a/b")], "a", twice),
            (&[link("/etc", "a")], "a", leaving),
            (&[link("..", "a")], "a", leaving),
            (&[link("../../x", "a/b")], "a/b", leaving),
            (&[link("b/../x", "a"), link(".", "b")], "a", leaving),
            (&[link("b", "a"), link("a", "b")], "a", leaving),
            (&[link("d/l/../../x", "a"), link(".", "d/l")], "a", leaving),
        ];
        for (tree, entry, refusal) in rows {
            let target = tempfile::tempdir().unwrap();
            let found = unpack_rows(tree, target.path());
            assert_eq!(found, Err(format!("{entry} {refusal}")), "{tree:?}");
        }
    }

    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        /// Whatever links a tree holds: what the system makes of those that were unpacked is inside.
        #[test]
        fn no_link_leads_out(
            links in proptest::collection::btree_map("[ab](/[ab]){0,2}", "(\\.\\.?|[ab])(/(\\.\\.?|[ab])){0,4}", 1..5)
        ) {
            let outer = tempfile::tempdir().unwrap();
            let target = outer.path().canonicalize().unwrap().join("tree");
            fs::create_dir(&target).unwrap();
            let rows: Vec<_> = links.iter().map(|(path, to)| ("120000", to.as_str(), path.as_str())).collect();
            if unpack_rows(&rows, &target).is_ok() {
                for path in links.keys() {
                    if let Ok(found) = target.join(path).canonicalize() {
                        prop_assert!(found.starts_with(&target), "{path} leads to {}", found.display());
                    }
                }
            }
        }

        #[test]
        fn no_listing_is_too_strange(listing in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(entries) = read_listing(&listing) {
                prop_assert!(entries.iter().all(|entry| check_path(&entry.path).is_ok()));
            }
        }
    }

    #[test]
    fn batches_are_read() {
        let answers = b"id blob 3\nabc\nid blob 0\n\nid missing\n";
        let mut batch = Batch::new(Vec::new(), &answers[..]);
        let mut out = Vec::new();
        assert!(matches!(batch.copy("id", 10, &mut out), Ok(3)));
        assert!(matches!(batch.copy("id", 10, &mut out), Ok(0)));
        assert!(matches!(batch.copy("id", 10, &mut out), Err(Stop::Garbled(_))));
        assert_eq!(out, b"abc");
        let mut batch = Batch::new(Vec::new(), &b"id blob 3\nabc\n"[..]);
        assert!(matches!(batch.copy("id", 2, &mut out), Err(Stop::TooLarge(_))));
    }
}
