//! What happens after a job's last step: outputs, left-over processes, directories.

use indexmap::IndexMap;

use super::JobRuntime;
use super::hooks::{Moment, run_hook};
use super::log::StepLog;
use super::observe::Phase;
use super::stop::StopSignal;
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
/// `machine` is absent if the job could not be set up. `stop` reaches the operator's hook; a job that is killed already
/// runs none.
///
/// # Cancel safety
/// Not cancel safe: directories may stay, until the next start finds them.
pub async fn wind_up(
    runtime: &JobRuntime,
    plan: &JobPlan,
    machine: Option<&Machine>,
    stop: StopSignal,
) -> WoundUp {
    let mark = runtime.mark();
    let hook = end_hook(runtime, machine, stop).await;
    let mut log = StepLog::open(runtime, None);
    let mut wound = WoundUp {
        conclusion: machine.map_or(Conclusion::Failure, Machine::conclusion),
        outputs: IndexMap::new(),
    };
    if let (Conclusion::Success, Some(worse)) = (wound.conclusion, hook) {
        wound.conclusion = worse;
    }
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

/// Runs the operator's hook after the job's last step, and says how it ended.
async fn end_hook(runtime: &JobRuntime, machine: Option<&Machine>, stop: StopSignal) -> Option<Conclusion> {
    let (view, frame) = match machine {
        Some(machine) => (machine.view().clone(), machine.frame()),
        // Whatever the first hook has begun, the last one can end, also where the steps could not run.
        None => runtime.hooked.get()?.clone(),
    };
    // The job's own time-out goes on, and cancels it.
    let hooked = run_hook(runtime, Moment::Completed, view, &frame, None, stop).await?;
    Some(hooked.outcome)
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
