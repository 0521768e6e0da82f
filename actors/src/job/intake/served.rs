//! The intake of jobs that a Gitea or Forgejo hands out.

use std::sync::Arc;

use gantry_engine::expr::Object;
use gantry_engine::model::{ClaimedWorkflow, Diagnostic, JobBody, NodeKind, StepAction, Workflow};
use gantry_engine::plan::claimed::{ClaimedJob, plan};
use gantry_engine::plan::graph::JobResult;
use gantry_engine::plan::{Conclusion, dispatch};
use gantry_protocols::forge::{self, Claim, Given};
use indexmap::IndexMap;
use serde_json::Value as Json;

use super::context::{Sent, value_of};
use super::environment::variables;
use super::{Error, Extra, Intake, Intaken};

/// What is known of the forge before any job.
#[derive(Debug, Clone)]
pub struct ServerFacts {
    /// The address of the instance without a slash at its end.
    pub instance: String,
    /// The runner's version.
    pub version: String,
}

/// Plans the jobs that one forge hands out.
#[derive(Debug, Clone)]
pub struct Served {
    facts: ServerFacts,
}

impl Served {
    /// The intake for one forge.
    pub fn new(facts: ServerFacts) -> Self {
        Self { facts }
    }
}

/// Where `uses: owner/repo@ref` is fetched from; a mirror of GitHub is the affair of who fetches.
fn actions_url(sent: &Sent<'_>) -> Result<String, Error> {
    let url = sent
        .own_text("default_actions_url")
        .ok_or(Error::Missing("the address of its actions"))?;
    Ok(url.trim_end_matches('/').to_owned())
}

impl Intake for Served {
    fn plan(&self, claim: &Claim) -> Result<Intaken, Error> {
        let given = &*claim.given;
        if given.context.is_empty() {
            return Err(Error::Missing("a context"));
        }
        let sent = Sent(&given.context);
        let actions_url = actions_url(&sent)?;
        let text = std::str::from_utf8(&claim.payload).map_err(|_| Error::NoText)?;
        let file = sent.text("workflow").unwrap_or_else(|| "workflow".to_owned());
        let workflow = ClaimedWorkflow::parse(&file, text, given.needs.keys().map(String::as_str))
            .map_err(|errors| invalid(&errors))?;
        let notes = workflow
            .notes
            .iter()
            .map(|note| format!("##[warning]{note}"))
            .collect();
        let steps = step_names(&workflow);
        let own = variables(
            &sent,
            &self.facts.instance,
            &given.capabilities,
            &self.facts.version,
        );
        let decision = plan(ClaimedJob {
            github: Arc::new(sent.github(&self.facts.instance)),
            vars: Arc::new(texts(&given.vars)),
            inputs: Arc::new(inputs(&sent, &workflow.workflow)),
            secrets: Arc::new(secrets(given, &sent)),
            needs: needs(given),
            workflow,
        })
        .map_err(|errors| invalid(&errors))?;
        Ok(Intaken {
            decision,
            extra: Extra {
                env: own.env,
                masks: own.masks,
                actions_url: Some(actions_url),
            },
            steps,
            notes,
        })
    }
}

fn invalid(diagnostics: &[Diagnostic]) -> Error {
    Error::Invalid(diagnostics.iter().map(ToString::to_string).collect())
}

fn texts<'a>(pairs: impl IntoIterator<Item = (&'a String, &'a String)>) -> Object {
    let mut object = Object::new();
    for (name, value) in pairs {
        object.insert(name.as_str(), value.as_str());
    }
    object
}

/// The secrets; the job's token is always among them (GitHub: docs, "Automatic token authentication").
fn secrets(given: &Given, sent: &Sent<'_>) -> Object {
    let mut secrets = texts(&given.secrets);
    if let Some(token) = sent.text("token") {
        for name in ["GITHUB_TOKEN", "GITEA_TOKEN"] {
            if secrets.get(name).is_none() {
                secrets.insert(name, token.as_str());
            }
        }
    }
    secrets
}

fn needs(given: &Given) -> IndexMap<String, JobResult> {
    let result = |need: &forge::Need| JobResult {
        conclusion: match need.conclusion {
            forge::Conclusion::Success => Conclusion::Success,
            forge::Conclusion::Failure => Conclusion::Failure,
            forge::Conclusion::Cancelled => Conclusion::Cancelled,
            forge::Conclusion::Skipped => Conclusion::Skipped,
        },
        outputs: need.outputs.clone().into_iter().collect(),
    };
    given
        .needs
        .iter()
        .map(|(id, need)| (id.clone(), result(need)))
        .collect()
}

/// The inputs: those of a call are typed by the forge, those of a dispatch by their declarations.
///
/// The forge has checked them; what does not fit a declaration that it has shortened is passed on as it is.
fn inputs(sent: &Sent<'_>, workflow: &Workflow) -> Object {
    if let Some(inputs) = sent.call_inputs() {
        return inputs;
    }
    let Some(given) = sent.event_inputs() else {
        return Object::new();
    };
    let event = sent.text("event_name").unwrap_or_default();
    let as_text = |value: &Json| match value {
        Json::String(text) => text.clone(),
        other => other.to_string(),
    };
    let written: IndexMap<String, String> = given
        .iter()
        .map(|(name, value)| (name.clone(), as_text(value)))
        .collect();
    if let Ok(inputs) = dispatch::inputs(&event, &workflow.on, &written) {
        return inputs.typed;
    }
    let mut inputs = Object::new();
    for (name, value) in given {
        inputs.insert(name.as_str(), value_of(value));
    }
    inputs
}

/// What a person sees of the steps before they run.
fn step_names(claimed: &ClaimedWorkflow) -> Vec<String> {
    let job = claimed.workflow.jobs.iter().find(|job| job.id == claimed.job);
    let Some(JobBody::Steps(steps)) = job.map(|job| &job.body) else {
        return Vec::new();
    };
    let name = |step: &gantry_engine::model::Step| {
        let written = step.name.as_ref().map(|name| &name.node().kind);
        match (written, &step.action) {
            (Some(NodeKind::String(name)), _) => name.to_string(),
            (_, StepAction::Uses(_)) => "Run an action".to_owned(),
            (_, StepAction::Run(_)) => "Run a script".to_owned(),
        }
    };
    steps.steps.iter().map(|step| name(step)).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use gantry_engine::expr::Value;
    use gantry_engine::plan::JobPlan;
    use gantry_engine::plan::claimed::Decision;
    use gantry_protocols::forge::{Need, TaskId};

    use super::*;

    const PLAIN: &str = "on: push\njobs:\n  b:\n    runs-on: x\n    steps:\n      - run: 'true'\n";

    fn text_of(object: &Object, name: &str) -> Option<String> {
        object.get(name).map(|value| value.to_text().into_owned())
    }

    fn claim(payload: &str, context: Json, change: impl FnOnce(&mut Given)) -> Claim {
        let Json::Object(mut context) = context else {
            panic!()
        };
        context
            .entry("gitea_default_actions_url")
            .or_insert("https://github.com".into());
        let mut given = Given {
            context,
            ..Given::default()
        };
        change(&mut given);
        Claim {
            task: TaskId(7),
            payload: payload.as_bytes().into(),
            given: Arc::new(given),
        }
    }

    fn intake() -> Served {
        Served::new(ServerFacts {
            instance: "https://forge.example".into(),
            version: "9.9".into(),
        })
    }

    fn planned(claim: &Claim) -> (JobPlan, Extra) {
        let intaken = intake().plan(claim).unwrap();
        match intaken.decision {
            Decision::Run(plan) => (*plan, intaken.extra),
            Decision::End { reason, .. } => panic!("{reason}"),
        }
    }

    #[test]
    fn a_job_gets_what_the_forge_gives_it_and_no_more() {
        let context = serde_json::json!({
            "token": "tok", "gitea_runtime_token": "run", "run_id": 5, "event_name": "push",
            "actions_id_token_request_url": "https://id", "actions_id_token_request_token": "idt",
        });
        let claim = claim(PLAIN, context, |given| {
            given.secrets.insert("DEPLOY".into(), "hush".into());
            given.vars.insert("COLOR".into(), "red".into());
            given.capabilities = "job-summary".into();
        });
        let (plan, extra) = planned(&claim);
        assert_eq!(text_of(&plan.contexts.vars, "COLOR").as_deref(), Some("red"));
        assert_eq!(text_of(&plan.contexts.secrets, "DEPLOY").as_deref(), Some("hush"));
        assert_eq!(
            text_of(&plan.contexts.secrets, "GITHUB_TOKEN").as_deref(),
            Some("tok")
        );
        let env: Vec<(&str, &str)> = extra
            .env
            .iter()
            .map(|(name, value)| (&**name, &**value))
            .collect();
        assert_eq!(
            env,
            [
                ("GITEA_ACTIONS", "true"),
                ("GITEA_ACTIONS_RUNNER_VERSION", "9.9"),
                ("GITEA_ACTIONS_CAPABILITIES", "job-summary"),
                ("GITEA_RUN_ID", "5"),
                (
                    "ACTIONS_RUNTIME_URL",
                    "https://forge.example/api/actions_pipeline/"
                ),
                ("ACTIONS_RESULTS_URL", "https://forge.example"),
                ("ACTIONS_RUNTIME_TOKEN", "run"),
                ("ACTIONS_ID_TOKEN_REQUEST_URL", "https://id"),
                ("ACTIONS_ID_TOKEN_REQUEST_TOKEN", "idt"),
            ]
        );
        let masked: Vec<&str> = extra.masks.iter().map(|(_, value)| &**value).collect();
        assert_eq!(masked, ["run", "idt", "tok"]);
    }

    #[test]
    fn an_old_forge_has_one_token_for_everything() {
        let (_, extra) = planned(&claim(PLAIN, serde_json::json!({"token": "tok"}), |_| {}));
        assert!(
            extra
                .env
                .contains(&("ACTIONS_RUNTIME_TOKEN".into(), "tok".into()))
        );
    }

    #[test]
    fn inputs_are_typed_by_their_declarations() {
        let text = "on:\n  workflow_dispatch:\n    inputs:\n      b: {type: boolean}\n".to_owned()
            + PLAIN.strip_prefix("on: push\n").unwrap();
        let context = serde_json::json!({
            "event_name": "workflow_dispatch", "event": {"inputs": {"b": "true"}},
        });
        let (plan, _) = planned(&claim(&text, context.clone(), |_| {}));
        assert!(matches!(plan.contexts.inputs.get("b"), Some(Value::Bool(true))));
        // A forge that shortens the triggers sends texts.
        let (plan, _) = planned(&claim(PLAIN, context, |_| {}));
        assert!(matches!(plan.contexts.inputs.get("b"), Some(Value::String(_))));
    }

    #[test]
    fn a_job_whose_need_has_failed_is_skipped_and_its_steps_are_named() {
        let claim = claim(PLAIN, serde_json::json!({"token": "t"}), |given| {
            let need = Need {
                conclusion: forge::Conclusion::Failure,
                outputs: BTreeMap::new(),
            };
            given.needs.insert("a".into(), need);
        });
        let intaken = intake().plan(&claim).unwrap();
        let Decision::End { conclusion, .. } = intaken.decision else {
            panic!()
        };
        assert_eq!(conclusion, Conclusion::Skipped);
        assert_eq!(intaken.steps, ["Run a script"]);
    }

    #[test]
    fn what_is_no_job_is_refused_with_a_reason() {
        let refused = |claim: &Claim| intake().plan(claim).err().unwrap().to_string();
        let several = format!("{PLAIN}  c:\n    runs-on: x\n    steps: []\n");
        let context = serde_json::json!({"workflow": "ci.yml"});
        for (payload, wanted) in [
            ("jobs: {}", "ci.yml: no jobs found"),
            (&several, "ci.yml: multiple jobs found"),
        ] {
            assert_eq!(refused(&claim(payload, context.clone(), |_| {})), wanted);
        }
        let mut bytes = claim(PLAIN, context.clone(), |_| {});
        bytes.payload = Arc::from([0xff, 0xfe, 0x80].as_slice());
        assert_eq!(
            refused(&bytes),
            "the workflow that the forge handed out is not UTF-8 text"
        );
        let bare = claim(PLAIN, context.clone(), |given| given.context.clear());
        assert_eq!(refused(&bare), "the forge handed out a job without a context");
        let nowhere = claim(PLAIN, context, |given| {
            given
                .context
                .insert("gitea_default_actions_url".into(), "".into());
        });
        assert_eq!(
            refused(&nowhere),
            "the forge handed out a job without the address of its actions"
        );
    }
}
