//! Where jobs run, `-i/--image`, and which forge they think they are of, `--gitea-instance`.

use std::collections::BTreeMap;

use anyhow::anyhow;

use super::super::ExecFlags;
use super::super::exit::{Result, usage};

/// Where a job runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// On this machine itself.
    Host,
    /// In a container of this image.
    Image(String),
}

/// The places by label.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Places {
    /// Where every label without a place of its own runs; `None`: nothing was said.
    pub all: Option<Place>,
    /// The places of single labels.
    pub labels: BTreeMap<String, Place>,
}

/// Reads the values of `-i`: `host` (or `-self-hosted`), an image, or one of these for a label: `LABEL=host`.
///
/// # Errors
/// A value is empty, or two values say where all labels run.
pub fn read(values: &[String]) -> Result<Places> {
    let mut places = Places::default();
    for value in values {
        // An image reference has no `=`.
        let (label, place) = match value.split_once('=') {
            Some((label, place)) => (Some(label), place),
            None => (None, value.as_str()),
        };
        if place.is_empty() || label == Some("") {
            return Err(usage(anyhow!(
                "-i {value}: expected `host`, an image, LABEL=host or LABEL=IMAGE"
            )));
        }
        let place = match place {
            "host" | "-self-hosted" => Place::Host,
            image => Place::Image(image.strip_prefix("docker://").unwrap_or(image).to_owned()),
        };
        match label {
            Some(label) => {
                places.labels.insert(label.to_owned(), place);
            }
            None if places.all.is_some() => {
                return Err(usage(anyhow!(
                    "-i {value}: another -i says already where all labels run"
                )));
            }
            None => places.all = Some(place),
        }
    }
    Ok(places)
}

/// The server of `--gitea-instance` as a URL without a slash at its end; a bare name is one of HTTPS.
///
/// # Errors
/// It is no URL of a server, or has credentials in it.
pub fn instance(flags: &ExecFlags) -> Result<Option<String>> {
    let Some(given) = &flags.gitea_instance else {
        return Ok(None);
    };
    let url = match given.split_once("://") {
        Some(_) => given.clone(),
        None => format!("https://{given}"),
    };
    let url = url.trim_end_matches('/');
    let rest = url
        .strip_prefix("https://")
        .or_else(|| url.strip_prefix("http://"));
    let is_server = rest.is_some_and(|rest| {
        let host = rest.split('/').next().unwrap_or_default();
        let is_odd = |c: char| c.is_whitespace() || c.is_control() || "@?#\\".contains(c);
        !host.is_empty() && !host.starts_with(':') && !rest.contains(is_odd)
    });
    if is_server {
        Ok(Some(url.to_owned()))
    } else {
        Err(usage(anyhow!(
            "--gitea-instance expects the URL of a server, such as https://code.example.com"
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Exit;

    fn places(values: &[&str]) -> Result<Places> {
        read(&values.iter().map(|value| (*value).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn places_are_read() {
        let all = |values: &[&str]| places(values).ok().and_then(|places| places.all);
        assert_eq!(all(&[]), None);
        assert_eq!(all(&["host"]), Some(Place::Host));
        assert_eq!(all(&["-self-hosted"]), Some(Place::Host));
        assert_eq!(
            all(&["docker://node:20"]),
            Some(Place::Image("node:20".to_owned()))
        );
        let mixed = places(&["gpu=host", "ubuntu-latest=debian:12", "node:20"]).unwrap_or_default();
        assert_eq!(mixed.all, Some(Place::Image("node:20".to_owned())));
        assert_eq!(mixed.labels.get("gpu"), Some(&Place::Host));
        assert_eq!(
            mixed.labels.get("ubuntu-latest"),
            Some(&Place::Image("debian:12".to_owned()))
        );
    }

    #[test]
    fn wrong_places_are_usage_errors() {
        for values in [&[""][..], &["=host"], &["x="], &["host", "node:20"]] {
            assert_eq!(
                places(values).map_err(|error| error.exit).err(),
                Some(Exit::Usage),
                "{values:?}"
            );
        }
    }
}
