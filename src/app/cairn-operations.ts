/** The operations that programs are offered, over an app that is opened for them. */
import { bisectRun } from '../operations/checkpoints/bisect-run.ts';
import { blameValue } from '../operations/checkpoints/blame-value.ts';
import { diffCheckpoints } from '../operations/checkpoints/diff-checkpoints.ts';
import { readLog } from '../operations/checkpoints/read-log.ts';
import { readState } from '../operations/checkpoints/read-state.ts';
import { showCheckpoint } from '../operations/checkpoints/show-checkpoint.ts';
import { tagCheckpoint } from '../operations/checkpoints/tag-checkpoint.ts';
import { refuseUnknownKeys } from '../graph/known-keys.ts';
import type { Operation } from '../operations/contract/operation.ts';
import { cancelRun } from '../operations/runs/cancel-run.ts';
import { forkRun } from '../operations/runs/fork-run.ts';
import { previewRun } from '../operations/runs/preview-run.ts';
import { graphRuns } from '../operations/runs/graph-runs.ts';
import { inspectRun } from '../operations/runs/inspect-run.ts';
import { listRuns } from '../operations/runs/list-runs.ts';
import { postMortem } from '../operations/runs/post-mortem.ts';
import { releaseRuns } from '../operations/runs/release-runs.ts';
import { removeRun } from '../operations/runs/remove-run.ts';
import { resumeRun } from '../operations/runs/resume-run.ts';
import { schedule } from '../operations/runs/schedules.ts';
import { startRun } from '../operations/runs/start-run.ts';
import { cleanUp } from '../operations/store/clean-up.ts';
import { pruneRuns } from '../operations/store/prune-runs.ts';
import { listWorkers } from '../operations/store/list-workers.ts';
import { storeIdentity } from '../operations/store/store-identity.ts';
import { verifyRuns } from '../operations/store/verify-runs.ts';
import { answerWait } from '../operations/waits/answer-wait.ts';
import { answerWaits } from '../operations/waits/answer-waits.ts';
import { listWaits } from '../operations/waits/list-waits.ts';
import { signalRun } from '../operations/waits/signal-run.ts';
import { checkWorkflow, planWorkflow } from '../operations/workflows/check-workflow.ts';
import { convertWorkflow } from '../operations/workflows/convert-workflow.ts';
import { listWorkflows } from '../operations/workflows/describe-workflow.ts';
import { draw } from '../operations/workflows/draw.ts';
import { formatWorkflow, lintWorkflow } from '../operations/workflows/lint-workflow.ts';
import { checkInput } from '../operations/contract/perform.ts';
import { openApp, type App } from './open-app.ts';
import type { Cairn, CairnOptions } from './cairn.ts';

type Method<Input, Output> = (...input: object extends Input ? [input?: Input] : [input: Input]) => Promise<Output>;

type Acted<Input, Output> = Pick<Operation<Input, Output, App>, 'name' | 'input' | 'run'>;

const optionNames = [
  'cwd',
  'store',
  'blobs',
  'config',
  'workflows',
  'allow',
  'trustsStore',
  'watch',
] as const satisfies readonly (keyof CairnOptions)[];

/** @throws what {@link openApp} throws; CONFIG_INVALID an option is unknown */
export async function openOperations(options: CairnOptions): Promise<Cairn> {
  refuseUnknownKeys('openCairn', options, optionNames);
  const { cwd = process.cwd(), store, blobs, config, ...same } = options;
  const app = await openApp({ ...same, cwd, storeUrl: store, blobsUrl: blobs, configFile: config, runsConfig: true });
  // The values are the program's own: they are masked where they are shown, and a program shows nothing.
  const act = <Input, Output>(operation: Acted<Input, Output>): Method<Input, Output> => {
    const fields = Object.keys(operation.input);
    return async (...[input = {} as Input]) => {
      refuseUnknownKeys(operation.name, input, fields);
      checkInput(operation.input, input);
      return operation.run(app, input);
    };
  };
  return {
    run: act(startRun),
    resume: act(resumeRun),
    answer: act(answerWait),
    answers: act(answerWaits),
    signal: act(signalRun),
    inbox: act(listWaits),
    inspect: act(inspectRun),
    cancel: act(cancelRun),
    preview: act(previewRun),
    fork: act(forkRun),
    plan: act(planWorkflow),
    check: act(checkWorkflow),
    lint: act(lintWorkflow),
    fmt: act(formatWorkflow),
    convert: act(convertWorkflow),
    workflows: act(listWorkflows),
    draw: act(draw),
    ls: act(listRuns),
    workers: act(listWorkers),
    log: act(readLog),
    show: act(showCheckpoint),
    state: act(readState),
    diff: act(diffCheckpoints),
    blame: act(blameValue),
    bisect: act(bisectRun),
    graph: act(graphRuns),
    postMortem: act(postMortem),
    tag: act(tagCheckpoint),
    prune: act(pruneRuns),
    cleanup: act(cleanUp),
    rm: act(removeRun),
    release: act(releaseRuns),
    verify: act(verifyRuns),
    identity: act(storeIdentity),
    schedule: act(schedule),
    schema: app.readSchema,
    engine: app.engine,
    history: app.engine.history,
    close: () => app.close(),
  };
}
