//! The runner file: who this runner is to which forge, and its token.
//!
//! It is JSON with the fields that the runners of Gitea and Forgejo write, so one of theirs works as it is. Fields that
//! are not known stay in it. It holds a token in plain text: only its owner may read it, and no error shows what is in it.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, fchown};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use gantry_actors::protocols::gitea::{Credentials, Secret};
use serde_json::{Map, Value, json};
use tempfile::NamedTempFile;

/// What a person reads who opens the file.
const WARNING: &str =
    "Gantry keeps this file. It holds the runner's token: do not edit it, and show it to nobody.";

/// Who this runner is to which forge. It cannot be printed.
#[derive(Clone)]
pub struct RunnerFile {
    /// The forge's number for it; 0 if it is not known.
    pub id: i64,
    /// With what it authenticates.
    pub credentials: Credentials,
    /// Its name as the forge keeps it.
    pub name: String,
    /// The address of the forge.
    pub address: String,
    /// Its labels as they were written.
    pub labels: Vec<String>,
    /// Whether it is for one job only.
    pub ephemeral: bool,
    /// The file as it was read; empty for a new one.
    document: Map<String, Value>,
}

impl RunnerFile {
    /// A runner that has no file yet.
    pub fn new(id: i64, credentials: Credentials, name: String, address: String) -> Self {
        Self {
            id,
            credentials,
            name,
            address,
            labels: Vec::new(),
            ephemeral: false,
            document: Map::new(),
        }
    }

    /// Reads the file of a runner.
    ///
    /// # Errors
    /// It is not there, cannot be read, or says not who the runner is.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        Self::read_if_there(path)?.ok_or_else(|| {
            anyhow!(
                "registration file not found, please register the runner first: `gantry register` writes {}",
                path.display()
            )
        })
    }

    /// Reads the file of a runner; nothing if there is none.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn read_if_there(path: &Path) -> anyhow::Result<Option<Self>> {
        let text = match fs::read(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read the runner file {}", path.display()));
            }
        };
        let subject = || format!("{} is no runner file", path.display());
        Self::parse(&text).with_context(subject).map(Some)
    }

    fn parse(text: &[u8]) -> anyhow::Result<Self> {
        if text.iter().all(u8::is_ascii_whitespace) {
            bail!("it is empty");
        }
        let document: Value = serde_json::from_slice(text)?;
        let Value::Object(document) = document else {
            bail!("it is no JSON object");
        };
        let fields = Fields(&document);
        Ok(Self {
            id: fields.number("id")?,
            credentials: Credentials {
                uuid: fields.required("uuid")?,
                token: Secret::new(fields.required("token")?),
            },
            name: fields.text("name")?,
            address: fields.required("address")?,
            labels: fields.texts("labels")?,
            ephemeral: fields.flag("ephemeral")?,
            document,
        })
    }

    /// Writes the file as a whole or not at all.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&self, path: &Path) -> anyhow::Result<()> {
        Draft::begin(path)?.finish(self)
    }

    fn render(&self) -> Vec<u8> {
        let mut document = self.document.clone();
        document.entry("WARNING").or_insert_with(|| WARNING.into());
        let fields = [
            ("id", json!(self.id)),
            ("uuid", json!(self.credentials.uuid)),
            ("name", json!(self.name)),
            ("token", json!(self.credentials.token.reveal())),
            ("address", json!(self.address)),
            ("labels", json!(self.labels)),
            ("ephemeral", json!(self.ephemeral)),
        ];
        for (key, value) in fields {
            document.insert(key.to_owned(), value);
        }
        // Indented by two spaces, as the other runners write it.
        format!("{:#}\n", Value::Object(document)).into_bytes()
    }
}

/// The fields of a file. Errors name a field and never its value, which may be the token.
struct Fields<'a>(&'a Map<String, Value>);

impl Fields<'_> {
    /// Null stands for a field that is not there: Go writes an empty list like that.
    fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key).filter(|value| !value.is_null())
    }

    fn text(&self, key: &str) -> anyhow::Result<String> {
        let Some(value) = self.get(key) else {
            return Ok(String::new());
        };
        let text = value
            .as_str()
            .with_context(|| format!("its field `{key}` is no text"))?;
        Ok(text.trim().to_owned())
    }

    fn required(&self, key: &str) -> anyhow::Result<String> {
        let text = self.text(key)?;
        if text.is_empty() {
            bail!("its field `{key}` is missing or empty");
        }
        Ok(text)
    }

    fn number(&self, key: &str) -> anyhow::Result<i64> {
        self.get(key).map_or(Ok(0), |value| {
            value
                .as_i64()
                .with_context(|| format!("its field `{key}` is no number"))
        })
    }

    fn flag(&self, key: &str) -> anyhow::Result<bool> {
        self.get(key).map_or(Ok(false), |value| {
            value
                .as_bool()
                .with_context(|| format!("its field `{key}` is neither true nor false"))
        })
    }

    fn texts(&self, key: &str) -> anyhow::Result<Vec<String>> {
        let Some(value) = self.get(key) else {
            return Ok(Vec::new());
        };
        let texts = value.as_array().and_then(|list| {
            let texts = list.iter().map(|text| text.as_str().map(str::to_owned));
            texts.collect()
        });
        texts.with_context(|| format!("its field `{key}` is no list of texts"))
    }
}

/// A runner file that is about to be written. Nothing is left of one that is dropped.
///
/// Whoever is about to use up a registration token begins with this: a directory that takes no file is found before.
pub struct Draft {
    target: PathBuf,
    temporary: NamedTempFile,
}

impl Draft {
    /// Prepares to write a runner file.
    ///
    /// # Errors
    /// Its directory takes no file, or it is something else than a file.
    pub fn begin(path: &Path) -> anyhow::Result<Self> {
        let subject = || format!("cannot write the runner file {}", path.display());
        // A link stays one: what it leads to is replaced.
        let target = fs::canonicalize(path).unwrap_or_else(|_missing| path.to_owned());
        if target.is_dir() {
            return Err(anyhow!("it is a directory")).with_context(subject);
        }
        // The file is made with mode 0600.
        let temporary = NamedTempFile::new_in(directory_of(&target)).with_context(subject)?;
        Ok(Self { target, temporary })
    }

    /// Puts the file into its place.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn finish(self, runner: &RunnerFile) -> anyhow::Result<()> {
        let Self { target, temporary } = self;
        let subject = || format!("cannot write the runner file {}", target.display());
        let content = runner.render();
        fill(&temporary, &target, &content).with_context(subject)?;
        match temporary.persist(&target) {
            Ok(_file) => sync_directory(directory_of(&target)).with_context(subject),
            Err(refused) if refused.error.kind() == io::ErrorKind::ResourceBusy => {
                tracing::warn!(
                    file = %target.display(),
                    "the runner file is mounted on its own and is written in place; mount its directory instead"
                );
                overwrite(&target, &content).with_context(subject)
            }
            Err(refused) => Err(refused.error).with_context(subject),
        }
    }
}

/// Gives the new file its content, and the owner of the one that it replaces.
fn fill(temporary: &NamedTempFile, target: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = temporary.as_file();
    file.write_all(content)?;
    if let Ok(before) = fs::metadata(target) {
        let now = file.metadata()?;
        if (before.uid(), before.gid()) != (now.uid(), now.gid())
            && let Err(error) = fchown(file, Some(before.uid()), Some(before.gid()))
        {
            tracing::warn!(file = %target.display(), %error, "the runner file changes its owner");
        }
    }
    file.sync_all()
}

fn overwrite(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = File::options().write(true).truncate(true).open(path)?;
    file.write_all(content)?;
    file.sync_all()
}

/// Makes the name of a new file survive a loss of power.
fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    /// As the Gitea runner writes it, with a field that Gantry does not know.
    const FOREIGN: &str = r#"{
  "WARNING": "do not edit",
  "id": 7,
  "uuid": "37633331-3539-3165-3862-363732323561",
  "name": "one",
  "token": "hunter2",
  "address": "https://forge.example/",
  "labels": [
    "build:host"
  ],
  "later": {
    "kept": true
  },
  "ephemeral": false
}
"#;

    fn error_of(text: &str) -> String {
        match RunnerFile::parse(text.as_bytes()) {
            Ok(_) => String::new(),
            Err(error) => format!("{error:#}"),
        }
    }

    #[test]
    fn the_file_of_another_runner_is_read_and_written_back_unchanged() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join(".runner");
        fs::write(&path, FOREIGN).expect("a file");
        let mut runner = RunnerFile::read(&path).expect("a runner");
        assert_eq!((runner.id, runner.name.as_str()), (7, "one"));
        assert_eq!(runner.credentials.token.reveal(), "hunter2");
        assert_eq!((runner.labels.len(), runner.ephemeral), (1, false));
        runner.write(&path).expect("written");
        assert_eq!(fs::read_to_string(&path).expect("a file"), FOREIGN);
        runner.labels = vec!["a".to_owned()];
        runner.write(&path).expect("written");
        let text = fs::read_to_string(&path).expect("a file");
        assert_eq!(text, FOREIGN.replace("build:host", "a"));
        let mode = fs::metadata(&path).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let left = fs::read_dir(directory.path()).expect("readable").count();
        assert_eq!(left, 1, "a temporary file is left");
    }

    #[test]
    fn a_new_file_has_the_fields_in_their_usual_order() {
        let credentials = Credentials {
            uuid: "u".to_owned(),
            token: Secret::new("t"),
        };
        let runner = RunnerFile::new(1, credentials, "n".to_owned(), "https://f".to_owned());
        let document: Map<String, Value> = serde_json::from_slice(&runner.render()).expect("JSON");
        let keys: Vec<_> = document.keys().map(String::as_str).collect();
        let expected = [
            "WARNING",
            "id",
            "uuid",
            "name",
            "token",
            "address",
            "labels",
            "ephemeral",
        ];
        assert_eq!(keys, expected);
    }

    #[test]
    fn what_may_be_missing_has_a_default() {
        let text = r#"{"uuid": "u", "token": "t", "address": "a", "labels": null}"#;
        let runner = RunnerFile::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{error:#}"));
        assert_eq!((runner.id, runner.labels.len(), runner.ephemeral), (0, 0, false));
    }

    #[test]
    fn errors_name_what_is_wrong_and_show_no_token() {
        let table = [
            ("", "it is empty"),
            ("[]", "it is no JSON object"),
            ("{}", "its field `uuid` is missing or empty"),
            (
                r#"{"uuid": "u", "token": 424242, "address": "a"}"#,
                "its field `token` is no text",
            ),
            (
                r#"{"uuid": "u", "token": " ", "address": "a"}"#,
                "its field `token` is missing or empty",
            ),
            (
                r#"{"uuid": "u", "token": "424242"}"#,
                "its field `address` is missing or empty",
            ),
            (
                r#"{"id": "424242", "uuid": "u", "token": "t", "address": "a"}"#,
                "its field `id` is no number",
            ),
            (
                r#"{"uuid": "u", "token": "t", "address": "a", "labels": [424242]}"#,
                "its field `labels` is no list of texts",
            ),
            (
                r#"{"uuid": "u", "token": "t", "address": "a", "ephemeral": "424242"}"#,
                "its field `ephemeral` is neither true nor false",
            ),
            (
                r#"{"token": "424242" "#,
                "EOF while parsing an object at line 1 column 19",
            ),
        ];
        for (text, expected) in table {
            let error = error_of(text);
            assert_eq!(error, expected, "{text}");
            assert!(!error.contains("424242"));
        }
        assert_eq!(error_of(FOREIGN), "");
    }

    #[test]
    fn a_link_leads_to_the_file_and_stays() {
        let directory = tempfile::tempdir().expect("a directory");
        let (link, file) = (directory.path().join("link"), directory.path().join("file"));
        fs::write(&file, FOREIGN).expect("a file");
        symlink(&file, &link).expect("a link");
        let mut runner = RunnerFile::read(&link).expect("a runner");
        runner.name = "two".to_owned();
        runner.write(&link).expect("written");
        assert!(link.is_symlink());
        assert_eq!(RunnerFile::read(&file).expect("a runner").name, "two");
    }

    #[test]
    fn a_file_that_is_not_there_or_cannot_be_written_is_named() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("missing/.runner");
        let error = RunnerFile::read(&path)
            .map(|_| ())
            .expect_err("missing")
            .to_string();
        assert!(
            error.starts_with("registration file not found, please register the runner first"),
            "{error}"
        );
        for path in [path.as_path(), directory.path()] {
            let error = Draft::begin(path)
                .map(|_| ())
                .expect_err("unwritable")
                .to_string();
            let expected = format!("cannot write the runner file {}", path.display());
            assert_eq!(error, expected);
        }
    }
}
