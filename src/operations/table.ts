/**
 * Every operation, by the name of its method in programs: a line each. Doors that offer operations are made from this module, read as a
 * namespace.
 */
export { startRun as run } from './runs/start-run.ts';
export { resumeRun as resume } from './runs/resume-run.ts';
export { answerWait as answer } from './waits/answer-wait.ts';
export { answerWaits as answers } from './waits/answer-waits.ts';
export { signalRun as signal } from './waits/signal-run.ts';
export { listWaits as inbox } from './waits/list-waits.ts';
export { inspectRun as inspect } from './runs/inspect-run.ts';
export { cancelRun as cancel } from './runs/cancel-run.ts';
export { previewRun as preview } from './runs/preview-run.ts';
export { forkRun as fork } from './runs/fork-run.ts';
export { planWorkflow as plan } from './workflows/check-workflow.ts';
export { checkWorkflow as check } from './workflows/check-workflow.ts';
export { lintWorkflow as lint } from './workflows/lint-workflow.ts';
export { formatWorkflow } from './workflows/lint-workflow.ts';
export { convertWorkflow as convert } from './workflows/convert-workflow.ts';
export { listWorkflows as workflows } from './workflows/describe-workflow.ts';
export { describeWorkflow as workflow } from './workflows/describe-workflow.ts';
export { draw } from './workflows/draw.ts';
export { listRuns } from './runs/list-runs.ts';
export { readOverviews as overviews } from './runs/read-overviews.ts';
export { listWorkers as workers } from './store/list-workers.ts';
export { readLog as log } from './checkpoints/read-log.ts';
export { listCheckpoints as checkpoints } from './checkpoints/list-checkpoints.ts';
export { describeCheckpoint as checkpoint } from './checkpoints/describe-checkpoint.ts';
export { showCheckpoint as show } from './checkpoints/show-checkpoint.ts';
export { readState as state } from './checkpoints/read-state.ts';
export { readRunStructure as structure } from './runs/graph-runs.ts';
export { diffCheckpoints as diff } from './checkpoints/diff-checkpoints.ts';
export { blameValue as blame } from './checkpoints/blame-value.ts';
export { bisectRun as bisect } from './checkpoints/bisect-run.ts';
export { graphRuns as graph } from './runs/graph-runs.ts';
export { postMortem } from './runs/post-mortem.ts';
export { tagCheckpoint as tag } from './checkpoints/tag-checkpoint.ts';
export { pruneRuns as prune } from './store/prune-runs.ts';
export { cleanUp as cleanup } from './store/clean-up.ts';
export { removeRun } from './runs/remove-run.ts';
export { holdRuns as hold } from './runs/hold-runs.ts';
export { releaseRuns as release } from './runs/release-runs.ts';
export { verifyRuns as verify } from './store/verify-runs.ts';
export { storeIdentity as identity } from './store/store-identity.ts';
export { schedule } from './runs/schedules.ts';
