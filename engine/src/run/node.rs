//! JavaScript actions.

use std::sync::Arc;

use super::Session;
use super::action::ActionCall;
use super::attempt::{Attempt, Concluded};
use super::environment::Layers;
use super::file_commands::FileCommands;
use super::observe::Phase;
use super::session::Done;
use super::step::Prepared;
use crate::backend::Command;
use crate::chain::failed_to;
use crate::job::{Frame, PostStep};
use crate::model::{NodeRuns, Runs};
use crate::plan::Conclusion;

impl Session<'_> {
    /// Runs `pre` or `main` of a JavaScript action; its clean-up is registered as soon as one of them starts.
    pub async fn node_part(
        &mut self,
        prepared: &Prepared<'_>,
        mut call: ActionCall,
        node: &NodeRuns,
        script: &str,
    ) -> Done {
        let concluded = match self.node(&prepared.name, &call, prepared.frame, script).await {
            Ok(concluded) => concluded,
            Err(message) => return self.refuse(&message),
        };
        let instance = prepared.frame.instance(&prepared.identity.action);
        Arc::make_mut(&mut call.state).extend(concluded.state);
        Arc::make_mut(&mut self.view.states).insert(instance.clone(), call.state.clone());
        if node.post.is_some() {
            self.posts.push(PostStep {
                index: self.index,
                instance,
                name: format!("Post {}", prepared.name),
                condition: node.post_if.clone(),
                frame: prepared.frame.clone(),
                call,
            });
        }
        concluded.done
    }

    /// Runs `post` of a JavaScript action with the inputs and the state of its main part.
    pub async fn node_post(&mut self, post: &PostStep) -> Conclusion {
        let Runs::Node(NodeRuns {
            post: Some(script), ..
        }) = &post.call.action.metadata.runs
        else {
            return Conclusion::Success;
        };
        match self.node(&post.name, &post.call, &post.frame, script).await {
            Ok(concluded) => concluded.done.outcome,
            Err(message) => self.refuse(&message).outcome,
        }
    }

    async fn node(
        &mut self,
        name: &str,
        call: &ActionCall,
        frame: &Frame,
        script: &str,
    ) -> Result<Concluded, String> {
        let mark = self.runtime.mark();
        let files = FileCommands::create(self.runtime, &call.identity)
            .await
            .map_err(|error| failed_to(&error))?;
        let inputs = call.input_variables();
        let state = call.state_variables();
        let layers = Layers {
            step: &call.env,
            state: &state,
            inputs: &inputs,
            ..Layers::default()
        };
        let env = self.environment_of(frame, &call.identity, &layers, &files);
        let Some(program) = self.find_program("node", &env).await else {
            return Err("This action runs on Node.js, and there is no 'node' in PATH".to_owned());
        };
        let path = format!("{}/{}", call.action.directory, script.trim_start_matches("./"));
        let cwd = self.runtime.sandbox.layout().workspace.clone();
        self.runtime.phase(Phase::Files, mark);
        let attempt = Attempt {
            name,
            command: Command {
                argv: vec![program, path],
                env,
                cwd,
            },
            files,
            script: None,
        };
        let concluded = self.attempt(attempt).await;
        concluded.map_err(|error| failed_to(&error))
    }
}
