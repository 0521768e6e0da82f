//! Finding a job or a step by what a person types.

use gantry_actors::engine::plan::suggest::nearest;

use crate::record::{Job, Step};

/// What a person asked for. Several jobs may answer to one name: legs of a matrix, or jobs of several workflows.
#[derive(Debug)]
pub enum Found<'a> {
    /// Nothing special.
    All,
    /// These jobs.
    Jobs(Vec<&'a Job>),
    /// These steps, each with its job.
    Steps(Vec<(&'a Job, &'a Step)>),
}

/// Finds `JOB` or `JOB/STEP`; names may hold slashes themselves.
///
/// # Errors
/// The text for the person if there is no such job or step.
pub fn find<'a>(jobs: &'a [Job], what: &str) -> Result<Found<'a>, String> {
    let found = jobs_of(jobs, what);
    if !found.is_empty() {
        return Ok(Found::Jobs(found));
    }
    let mut mistake = None;
    for (at, _) in what.match_indices('/') {
        let found = jobs_of(jobs, &what[..at]);
        let wanted = what[at + 1..].trim();
        let steps: Vec<_> = found
            .iter()
            .flat_map(|job| steps_of(job, wanted).into_iter().map(|step| (*job, step)))
            .collect();
        if !steps.is_empty() {
            return Ok(Found::Steps(steps));
        }
        if let Some(job) = found.first() {
            mistake.get_or_insert_with(|| no_step(job, wanted));
        }
    }
    Err(mistake.unwrap_or_else(|| no_job(jobs, what)))
}

fn jobs_of<'a>(jobs: &'a [Job], wanted: &str) -> Vec<&'a Job> {
    let wanted = wanted.trim();
    // A name that one job has alone is not the id of others.
    for names in [
        |job: &Job| vec![job.key.clone(), job.name.clone()],
        |job: &Job| vec![id_of(job).to_owned()],
    ] {
        let found: Vec<_> = jobs
            .iter()
            .filter(|job| names(job).iter().any(|name| is_same(name, wanted)))
            .collect();
        if !found.is_empty() {
            return found;
        }
    }
    Vec::new()
}

/// The id of a job: what stands in its key behind those of its callers and before its place in the matrix.
fn id_of(job: &Job) -> &str {
    let key = job.key.rsplit('.').next().unwrap_or_default();
    key.split('(').next().unwrap_or_default()
}

fn steps_of<'a>(job: &'a Job, wanted: &str) -> Vec<&'a Step> {
    let all = all_steps(&job.steps);
    for names in [
        |step: &Step| Some(step.number.clone()),
        |step: &Step| step.id.clone(),
        |step: &Step| Some(step.name.clone()),
    ] {
        let found: Vec<_> = all
            .iter()
            .filter(|step| names(step).is_some_and(|name| is_same(&name, wanted)))
            .copied()
            .collect();
        if !found.is_empty() {
            return found;
        }
    }
    Vec::new()
}

/// All steps, also those inside of others, each before what is in it.
fn all_steps(steps: &[Step]) -> Vec<&Step> {
    let mut all = Vec::new();
    let mut open: Vec<&Step> = steps.iter().rev().collect();
    while let Some(step) = open.pop() {
        all.push(step);
        open.extend(step.steps.iter().rev());
    }
    all
}

fn is_same(name: &str, wanted: &str) -> bool {
    name.to_lowercase() == wanted.to_lowercase()
}

fn no_job(jobs: &[Job], wanted: &str) -> String {
    let names = jobs.iter().flat_map(|job| [id_of(job), &job.key, &job.name]);
    let job = wanted.split('/').next().unwrap_or_default().trim();
    let hint = match nearest(job, names) {
        Some(name) => format!(" (did you mean '{name}'?)"),
        None => "; `gantry explain` lists its jobs".to_owned(),
    };
    format!("the last run has no job '{wanted}'{hint}")
}

fn no_step(job: &Job, wanted: &str) -> String {
    let all = all_steps(&job.steps);
    let names = all
        .iter()
        .flat_map(|step| [step.id.as_deref(), Some(step.name.as_str())])
        .flatten();
    let hint = match nearest(wanted, names) {
        Some(name) => format!(" (did you mean '{name}'?)"),
        None => format!("; `gantry explain '{}'` lists its steps", job.key),
    };
    format!("job '{}' of the last run has no step '{wanted}'{hint}", job.key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Part;

    fn step(number: &str, id: Option<&str>, name: &str, steps: Vec<Step>) -> Step {
        Step {
            number: number.to_owned(),
            part: Part::Main,
            id: id.map(str::to_owned),
            name: name.to_owned(),
            line: 1,
            outcome: None,
            conclusion: None,
            seconds: None,
            condition: None,
            env: Vec::new(),
            steps,
        }
    }

    fn job(key: &str, name: &str) -> Job {
        let inner = vec![step("2.1", Some("deep"), "Run x/y", Vec::new())];
        Job {
            key: key.to_owned(),
            name: name.to_owned(),
            steps: vec![
                step("1", Some("make"), "Build it", Vec::new()),
                step("2", None, "Run ./composite", inner),
            ],
            ..Job::default()
        }
    }

    fn jobs() -> Vec<Job> {
        vec![
            job("lint", "Lint"),
            job("call.test(_1_a)", "call / test (1, a)"),
            job("call.test(_2_b)", "call / test (2, b)"),
            job("other", "test"),
        ]
    }

    fn check(what: &str, want: &str) {
        let jobs = jobs();
        let found = match find(&jobs, what) {
            Ok(Found::All) => "all".to_owned(),
            Ok(Found::Jobs(jobs)) => jobs
                .iter()
                .map(|job| job.key.as_str())
                .collect::<Vec<_>>()
                .join(", "),
            Ok(Found::Steps(steps)) => steps
                .iter()
                .map(|(job, step)| format!("{} {}", job.key, step.number))
                .collect::<Vec<_>>()
                .join(", "),
            Err(mistake) => mistake,
        };
        assert_eq!(found, want, "{what}");
    }

    #[test]
    fn jobs_are_found_by_key_name_and_id() {
        check("LINT", "lint");
        check("call / Test (2, b)", "call.test(_2_b)");
        check("call.test(_1_a)", "call.test(_1_a)");
        check("test", "other");
        check("other", "other");
    }

    #[test]
    fn an_id_stands_for_every_leg() {
        let mut jobs = jobs();
        jobs.pop();
        assert!(matches!(find(&jobs, "test"), Ok(Found::Jobs(found)) if found.len() == 2));
        assert!(matches!(find(&jobs, "test/1"), Ok(Found::Steps(found)) if found.len() == 2));
    }

    #[test]
    fn steps_are_found_by_number_id_and_name() {
        check("lint/1", "lint 1");
        check("lint/2.1", "lint 2.1");
        check("lint/MAKE", "lint 1");
        check("lint/deep", "lint 2.1");
        check("lint/run x/y", "lint 2.1");
        check("lint / Run ./composite", "lint 2");
        check("call / test (1, a)/make", "call.test(_1_a) 1");
    }

    #[test]
    fn a_miss_says_what_was_probably_meant() {
        check("lnt", "the last run has no job 'lnt' (did you mean 'lint'?)");
        check("lnt/1", "the last run has no job 'lnt/1' (did you mean 'lint'?)");
        check(
            "nothing",
            "the last run has no job 'nothing'; `gantry explain` lists its jobs",
        );
        check(
            "lint/mak",
            "job 'lint' of the last run has no step 'mak' (did you mean 'make'?)",
        );
        check(
            "lint/9",
            "job 'lint' of the last run has no step '9'; `gantry explain 'lint'` lists its steps",
        );
    }
}
