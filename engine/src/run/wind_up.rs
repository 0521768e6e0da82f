//! What happens after a job's last step: outputs, left-over processes, directories.

use indexmap::IndexMap;

use super::JobRuntime;
use super::log::StepLog;
use super::observe::Phase;
use crate::chain::Chain;
use crate::job::{Machine, evaluate_outputs};
use crate::plan::{Conclusion, JobPlan};

/// How a job ended in the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WoundUp {
    /// The conclusion, with what went wrong while it was wound up.
    pub conclusion: Conclusion,
    /// The job's outputs.
    pub outputs: IndexMap<String, String>,
}

/// Ends a job: evaluates its outputs, ends what its steps left running and removes its directories.
///
/// `machine` is absent if the job could not be set up.
///
/// # Cancel safety
/// Not cancel safe: directories may stay, until the next start finds them.
pub async fn wind_up(runtime: &JobRuntime, plan: &JobPlan, machine: Option<&Machine>) -> WoundUp {
    let mark = runtime.mark();
    let mut log = StepLog::open(runtime, None);
    let mut wound = WoundUp {
        conclusion: machine.map_or(Conclusion::Failure, Machine::conclusion),
        outputs: IndexMap::new(),
    };
    if let Some(machine) = machine {
        collect_outputs(runtime, plan, machine, &mut wound, &mut log);
    }
    for orphan in runtime.sandbox.end_orphans().await {
        log.line(format_args!(
            "Terminate orphan process: pid ({}) ({})",
            orphan.pid, orphan.name
        ));
    }
    for line in runtime.leak_lines() {
        log.line(line);
    }
    if let Err(error) = runtime.sandbox.remove().await {
        let error = Chain(&error);
        tracing::warn!(job = plan.key, %error, "failed to remove the job's directories");
        log.line(format_args!("##[warning]Failed to {error}"));
    }
    log.finish().await;
    runtime.phase(Phase::WindUp, mark);
    wound
}

fn collect_outputs(
    runtime: &JobRuntime,
    plan: &JobPlan,
    machine: &Machine,
    wound: &mut WoundUp,
    log: &mut StepLog,
) {
    match evaluate_outputs(plan, machine.view(), &machine.frame(), &runtime.masks) {
        Ok(outputs) => {
            for warning in outputs.warnings {
                log.line(format_args!("##[warning]{warning}"));
            }
            wound.outputs = outputs.values;
        }
        Err(diagnostics) => {
            log.error("Fail to evaluate job outputs");
            for diagnostic in diagnostics {
                log.error(diagnostic);
            }
            if wound.conclusion == Conclusion::Success {
                wound.conclusion = Conclusion::Failure;
            }
        }
    }
}
