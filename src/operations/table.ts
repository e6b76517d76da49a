/** The operations that programs are offered, by the names of their methods. Doors that offer all of them are made from this table. */
import { bisectRun } from './checkpoints/bisect-run.ts';
import { blameValue } from './checkpoints/blame-value.ts';
import { describeCheckpoint } from './checkpoints/describe-checkpoint.ts';
import { diffCheckpoints } from './checkpoints/diff-checkpoints.ts';
import { listCheckpoints } from './checkpoints/list-checkpoints.ts';
import { readLog } from './checkpoints/read-log.ts';
import { readState } from './checkpoints/read-state.ts';
import { showCheckpoint } from './checkpoints/show-checkpoint.ts';
import { tagCheckpoint } from './checkpoints/tag-checkpoint.ts';
import { cancelRun } from './runs/cancel-run.ts';
import { forkRun } from './runs/fork-run.ts';
import { previewRun } from './runs/preview-run.ts';
import { graphRuns, readRunStructure } from './runs/graph-runs.ts';
import { inspectRun } from './runs/inspect-run.ts';
import { listRuns } from './runs/list-runs.ts';
import { postMortem } from './runs/post-mortem.ts';
import { readOverviews } from './runs/read-overviews.ts';
import { releaseRuns } from './runs/release-runs.ts';
import { removeRun } from './runs/remove-run.ts';
import { resumeRun } from './runs/resume-run.ts';
import { schedule } from './runs/schedules.ts';
import { startRun } from './runs/start-run.ts';
import { cleanUp } from './store/clean-up.ts';
import { listWorkers } from './store/list-workers.ts';
import { pruneRuns } from './store/prune-runs.ts';
import { storeIdentity } from './store/store-identity.ts';
import { verifyRuns } from './store/verify-runs.ts';
import { answerWait } from './waits/answer-wait.ts';
import { answerWaits } from './waits/answer-waits.ts';
import { listWaits } from './waits/list-waits.ts';
import { signalRun } from './waits/signal-run.ts';
import { checkWorkflow, planWorkflow } from './workflows/check-workflow.ts';
import { convertWorkflow } from './workflows/convert-workflow.ts';
import { describeWorkflow, listWorkflows } from './workflows/describe-workflow.ts';
import { draw } from './workflows/draw.ts';
import { formatWorkflow, lintWorkflow } from './workflows/lint-workflow.ts';

/** Each by the name of the method of {@link Cairn} that does it. */
/** Every operation, by its name in programs. */
export interface Operations {
  readonly run: typeof startRun;
  readonly resume: typeof resumeRun;
  readonly answer: typeof answerWait;
  readonly answers: typeof answerWaits;
  readonly signal: typeof signalRun;
  readonly inbox: typeof listWaits;
  readonly inspect: typeof inspectRun;
  readonly cancel: typeof cancelRun;
  readonly preview: typeof previewRun;
  readonly fork: typeof forkRun;
  readonly plan: typeof planWorkflow;
  readonly check: typeof checkWorkflow;
  readonly lint: typeof lintWorkflow;
  readonly fmt: typeof formatWorkflow;
  readonly convert: typeof convertWorkflow;
  readonly workflows: typeof listWorkflows;
  readonly workflow: typeof describeWorkflow;
  readonly draw: typeof draw;
  readonly ls: typeof listRuns;
  readonly overviews: typeof readOverviews;
  readonly workers: typeof listWorkers;
  readonly log: typeof readLog;
  readonly checkpoints: typeof listCheckpoints;
  readonly checkpoint: typeof describeCheckpoint;
  readonly show: typeof showCheckpoint;
  readonly state: typeof readState;
  readonly structure: typeof readRunStructure;
  readonly diff: typeof diffCheckpoints;
  readonly blame: typeof blameValue;
  readonly bisect: typeof bisectRun;
  readonly graph: typeof graphRuns;
  readonly postMortem: typeof postMortem;
  readonly tag: typeof tagCheckpoint;
  readonly prune: typeof pruneRuns;
  readonly cleanup: typeof cleanUp;
  readonly rm: typeof removeRun;
  readonly release: typeof releaseRuns;
  readonly verify: typeof verifyRuns;
  readonly identity: typeof storeIdentity;
  readonly schedule: typeof schedule;
}

export const operations: Operations = {
  run: startRun,
  resume: resumeRun,
  answer: answerWait,
  answers: answerWaits,
  signal: signalRun,
  inbox: listWaits,
  inspect: inspectRun,
  cancel: cancelRun,
  preview: previewRun,
  fork: forkRun,
  plan: planWorkflow,
  check: checkWorkflow,
  lint: lintWorkflow,
  fmt: formatWorkflow,
  convert: convertWorkflow,
  workflows: listWorkflows,
  workflow: describeWorkflow,
  draw,
  ls: listRuns,
  overviews: readOverviews,
  workers: listWorkers,
  log: readLog,
  checkpoints: listCheckpoints,
  checkpoint: describeCheckpoint,
  show: showCheckpoint,
  state: readState,
  structure: readRunStructure,
  diff: diffCheckpoints,
  blame: blameValue,
  bisect: bisectRun,
  graph: graphRuns,
  postMortem,
  tag: tagCheckpoint,
  prune: pruneRuns,
  cleanup: cleanUp,
  rm: removeRun,
  release: releaseRuns,
  verify: verifyRuns,
  identity: storeIdentity,
  schedule,
};
