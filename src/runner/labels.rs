//! Labels: which jobs a runner takes, and where it runs them.
//!
//! A label is `NAME[:SCHEME[:REST]]`. A forge knows the names only, and picks runners by them; what follows the name is
//! the runner's own affair. A text whose scheme is not known is a name as a whole, such as `pool:e57e1c`.

/// The labels of a runner whose operator names none.
pub const DEFAULTS: [&str; 3] = [
    "ubuntu-latest:docker://docker.gitea.com/runner-images:ubuntu-latest",
    "ubuntu-24.04:docker://docker.gitea.com/runner-images:ubuntu-24.04",
    "ubuntu-22.04:docker://docker.gitea.com/runner-images:ubuntu-22.04",
];

/// Where jobs of a label run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// On this machine itself.
    Host,
    /// In a container of this image; an empty one stands for the image of jobs that no label matches.
    Docker(String),
    /// In a pod with this image.
    Kubernetes(String),
}

/// One label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    text: String,
    name: usize,
    place: Place,
}

impl Label {
    /// Reads a label; spaces around it do not belong to it. A text without a name is none.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let (name, scheme, rest) = split(text);
        let place = match (scheme, rest) {
            (None | Some("host"), _) => Some(Place::Host),
            (Some("docker"), rest) => Some(Place::Docker(without_slashes(rest).to_owned())),
            (Some("kubernetes"), rest) => {
                let image = rest.strip_prefix("//").filter(|image| !image.is_empty());
                image.map(|image| Place::Kubernetes(image.to_owned()))
            }
            _ => None,
        };
        let name = if place.is_some() { name } else { text };
        (!name.is_empty()).then(|| Self {
            name: name.len(),
            place: place.unwrap_or(Place::Host),
            text: text.to_owned(),
        })
    }

    /// What a forge knows of it.
    pub fn name(&self) -> &str {
        &self.text[..self.name]
    }

    /// Where its jobs run.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// The whole label, as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What its author should know: most often it is a name by mistake.
    fn remark(&self) -> Option<String> {
        let (_, scheme, rest) = split(&self.text);
        let is_meant_as_scheme = matches!(scheme, Some("kubernetes" | "")) || rest.starts_with("//");
        (self.name == self.text.len() && scheme.is_some() && is_meant_as_scheme).then(|| {
            format!(
                "the label `{}` is a name as a whole, and its jobs run on this machine: a scheme is `host`, `docker://IMAGE` or `kubernetes://IMAGE`",
                self.text
            )
        })
    }
}

/// The labels of a runner.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Labels(Vec<Label>);

impl Labels {
    /// Reads labels; yields also a sentence for each text that is none, and for each that may not be what was meant.
    pub fn read<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> (Self, Vec<String>) {
        let mut remarks = Vec::new();
        let mut labels = Vec::new();
        for text in texts {
            match Label::parse(text.as_ref()) {
                Some(label) => {
                    remarks.extend(label.remark());
                    labels.push(label);
                }
                None => remarks.push(format!(
                    "ignored invalid label {:?}: it has no name",
                    text.as_ref()
                )),
            }
        }
        (Self(labels), remarks)
    }

    /// Tells whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The labels in order.
    pub fn iter(&self) -> impl Iterator<Item = &Label> {
        self.0.iter()
    }

    /// What a forge is told: each name once.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::with_capacity(self.0.len());
        for label in &self.0 {
            if !names.iter().any(|known| known == label.name()) {
                names.push(label.name().to_owned());
            }
        }
        names
    }

    /// What a file keeps: the labels as they were written.
    pub fn texts(&self) -> Vec<String> {
        self.0.iter().map(|label| label.text.clone()).collect()
    }

    /// The place for a job: that of the first of its labels that this runner has. Of two labels with one name, the later
    /// one holds.
    ///
    /// Nothing fits if the forge has matched the job by labels that this runner has no more.
    pub fn pick<T: AsRef<str>>(&self, runs_on: &[T]) -> Option<&Place> {
        runs_on.iter().find_map(|wanted| {
            let found = self.0.iter().rev().find(|label| label.name() == wanted.as_ref());
            found.map(Label::place)
        })
    }

    /// Where jobs run that no label fits; containers are the safer place, so they come first.
    ///
    /// An empty image stands for that of such jobs.
    pub fn fallback(&self) -> Place {
        let has = |wanted: fn(&Place) -> bool| self.0.iter().any(|label| wanted(&label.place));
        if has(|place| matches!(place, Place::Docker(_))) {
            Place::Docker(String::new())
        } else if has(|place| matches!(place, Place::Kubernetes(_))) {
            Place::Kubernetes(String::new())
        } else {
            Place::Host
        }
    }
}

/// The texts of a list that is written with commas.
pub fn listed(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|text| !text.is_empty())
}

/// Splits at the first two colons.
fn split(text: &str) -> (&str, Option<&str>, &str) {
    let mut parts = text.splitn(3, ':');
    let name = parts.next().unwrap_or_default();
    (name, parts.next(), parts.next().unwrap_or_default())
}

fn without_slashes(text: &str) -> &str {
    text.strip_prefix("//").unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn docker(image: &str) -> Place {
        Place::Docker(image.to_owned())
    }

    #[test]
    fn a_label_is_a_name_and_a_place() {
        let table = [
            ("build", "build", Place::Host),
            (" build\n", "build", Place::Host),
            ("build:host", "build", Place::Host),
            ("build:host:rest", "build", Place::Host),
            ("u:docker://node:22", "u", docker("node:22")),
            ("u:docker:node:22", "u", docker("node:22")),
            (
                "u:docker://r:5000/a/b@sha256:0a",
                "u",
                docker("r:5000/a/b@sha256:0a"),
            ),
            ("u:docker", "u", docker("")),
            ("u:docker://", "u", docker("")),
            (
                "k:kubernetes://node:22",
                "k",
                Place::Kubernetes("node:22".to_owned()),
            ),
            ("k:kubernetes://", "k:kubernetes://", Place::Host),
            ("k:kubernetes:node", "k:kubernetes:node", Place::Host),
            ("k:kubernetes", "k:kubernetes", Place::Host),
            ("pool:e57e1c", "pool:e57e1c", Place::Host),
            ("pool:e57e1c:", "pool:e57e1c:", Place::Host),
            ("build:", "build:", Place::Host),
            ("u:Docker://node", "u:Docker://node", Place::Host),
            ("b:lxc://debian:trixie", "b:lxc://debian:trixie", Place::Host),
        ];
        for (text, name, place) in table {
            let label = Label::parse(text).expect(text);
            assert_eq!((label.name(), label.place()), (name, &place), "{text:?}");
            assert_eq!(label.text(), text.trim());
        }
        for text in ["", " ", ":host", ":docker://node"] {
            assert_eq!(Label::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_runner_says_names_and_keeps_texts() {
        let texts = ["a:docker://one", "pool:1", "", "a:host", "b"];
        let (labels, remarks) = Labels::read(texts);
        assert_eq!(labels.names(), ["a", "pool:1", "b"]);
        assert_eq!(labels.texts(), ["a:docker://one", "pool:1", "a:host", "b"]);
        assert_eq!(remarks, ["ignored invalid label \"\": it has no name"]);
        assert_eq!(listed(" a:host, ,b,").collect::<Vec<_>>(), ["a:host", "b"]);
    }

    #[test]
    fn a_scheme_with_a_mistake_is_remarked_on() {
        for (text, is_remarked) in [
            ("u:dokcer://node", true),
            ("b:lxc://debian", true),
            ("k:kubernetes", true),
            ("u:", true),
            ("pool:e57e1c", false),
            ("u:docker://node", false),
            ("u", false),
        ] {
            let (_, remarks) = Labels::read([text]);
            assert_eq!(!remarks.is_empty(), is_remarked, "{text}: {remarks:?}");
        }
    }

    #[test]
    fn the_first_label_of_a_job_that_the_runner_has_decides() {
        let (labels, _) = Labels::read(["u:docker://old", "build:host", "u:docker://new", "pool:1"]);
        let table: [(&[&str], Option<Place>); 7] = [
            (&["u"], Some(docker("new"))),
            (&["build", "u"], Some(Place::Host)),
            (&["u", "build"], Some(docker("new"))),
            (&["self-hosted", "u"], Some(docker("new"))),
            (&["pool:1"], Some(Place::Host)),
            (&["pool", "U"], None),
            (&[], None),
        ];
        for (runs_on, place) in table {
            assert_eq!(labels.pick(runs_on), place.as_ref(), "{runs_on:?}");
        }
    }

    #[test]
    fn what_no_label_fits_does_not_leave_containers() {
        for (texts, place) in [
            (&["a:host", "b:docker://x"][..], docker("")),
            (&["a:host", "b:kubernetes://x"], Place::Kubernetes(String::new())),
            (&["b:kubernetes://x", "c:docker://x"], docker("")),
            (&["a", "pool:1"], Place::Host),
            (&[], Place::Host),
        ] {
            assert_eq!(Labels::read(texts).0.fallback(), place, "{texts:?}");
        }
    }
}
