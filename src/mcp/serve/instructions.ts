/** What the server tells a model about itself. */
export const instructions = `Cairn runs durable workflows: every step is a checkpoint, so a run survives crashes and may wait days for an answer.

1. list_workflows, then get_workflow_info for the inputs of one.
2. execute_workflow. Its status is success (see outputs), failure (see error, code and hint), or paused. After a failure resume_workflow tries again what failed; of what may have happened it asks first, and with retry true it runs commands again that ended with an exit code.
3. paused: a question is open. Show prompt to the person unless it is yours to answer, then call resume_workflow with the checkpoint_id and llm_response. Whether a tool may be called, and whether an effect in doubt happened, is for the person: message names the command. With several questions open, give answers: { wait: value }. An answer that does not fit leaves the questions open, and message says why.
4. A long run: execute_workflow with wait false, then get_run. A run whose server has ended is stopped: resume_workflow with its run_id goes on, and nothing that is recorded is done again.
5. To go back: list_checkpoints, preview_resume, then fork_checkpoint with other inputs or answers. The original run stays as it is.

Giving run_id to execute_workflow makes a repeated call the same run. Errors say what to do next in message.`;
