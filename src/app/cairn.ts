/** What the command line can do, for programs: workflows and graphs of files, and the runs of a store, by the same operations. */
import type { Engine } from '../engine/api.ts';
import type { History } from '../history/history.ts';
import type { JsonSchema } from '../graph/contracts/node-type.ts';
import type { bisectRun } from '../operations/checkpoints/bisect-run.ts';
import type { blameValue } from '../operations/checkpoints/blame-value.ts';
import type { diffCheckpoints } from '../operations/checkpoints/diff-checkpoints.ts';
import type { readLog } from '../operations/checkpoints/read-log.ts';
import type { readState } from '../operations/checkpoints/read-state.ts';
import type { showCheckpoint } from '../operations/checkpoints/show-checkpoint.ts';
import type { tagCheckpoint } from '../operations/checkpoints/tag-checkpoint.ts';
import type { Operation, WatchedEvent } from '../operations/contract/operation.ts';
import type { cancelRun } from '../operations/runs/cancel-run.ts';
import type { forkRun } from '../operations/runs/fork-run.ts';
import type { previewRun } from '../operations/runs/preview-run.ts';
import type { graphRuns } from '../operations/runs/graph-runs.ts';
import type { inspectRun } from '../operations/runs/inspect-run.ts';
import type { listRuns } from '../operations/runs/list-runs.ts';
import type { postMortem } from '../operations/runs/post-mortem.ts';
import type { releaseRuns } from '../operations/runs/release-runs.ts';
import type { removeRun } from '../operations/runs/remove-run.ts';
import type { resumeRun } from '../operations/runs/resume-run.ts';
import type { schedule } from '../operations/runs/schedules.ts';
import type { startRun } from '../operations/runs/start-run.ts';
import type { cleanUp } from '../operations/store/clean-up.ts';
import type { pruneRuns } from '../operations/store/prune-runs.ts';
import type { listWorkers } from '../operations/store/list-workers.ts';
import type { storeIdentity } from '../operations/store/store-identity.ts';
import type { verifyRuns } from '../operations/store/verify-runs.ts';
import type { answerWait } from '../operations/waits/answer-wait.ts';
import type { answerWaits } from '../operations/waits/answer-waits.ts';
import type { listWaits } from '../operations/waits/list-waits.ts';
import type { signalRun } from '../operations/waits/signal-run.ts';
import type { checkWorkflow, planWorkflow } from '../operations/workflows/check-workflow.ts';
import type { convertWorkflow } from '../operations/workflows/convert-workflow.ts';
import type { listWorkflows } from '../operations/workflows/describe-workflow.ts';
import type { draw } from '../operations/workflows/draw.ts';
import type { formatWorkflow, lintWorkflow } from '../operations/workflows/lint-workflow.ts';

/** An operation as a method. */
type Act<Done> =
  Done extends Operation<infer Input, infer Output, infer _Context>
    ? (...input: object extends Input ? [input?: Input] : [input: Input]) => Promise<Output>
    : never;

/**
 * The operations of the command line by the names of its commands. Each takes what the command takes and gives what it shows with
 * `--json`, but nothing is masked; each throws what the command fails with. A run, or a checkpoint of it, is named as there.
 */
export interface Cairn {
  readonly run: Act<typeof startRun>;
  readonly resume: Act<typeof resumeRun>;
  /** Answers one question. */
  readonly answer: Act<typeof answerWait>;
  /** Answers several, all or none. */
  readonly answers: Act<typeof answerWaits>;
  readonly signal: Act<typeof signalRun>;
  readonly inbox: Act<typeof listWaits>;
  /** Where a run stands, with its progress: blocks done, and the wave it works on. */
  readonly inspect: Act<typeof inspectRun>;
  readonly cancel: Act<typeof cancelRun>;
  readonly preview: Act<typeof previewRun>;
  readonly fork: Act<typeof forkRun>;
  readonly plan: Act<typeof planWorkflow>;
  /** All that is wrong with a text as a workflow, and what it would be. */
  readonly check: Act<typeof checkWorkflow>;
  readonly lint: Act<typeof lintWorkflow>;
  readonly fmt: Act<typeof formatWorkflow>;
  readonly convert: Act<typeof convertWorkflow>;
  readonly workflows: Act<typeof listWorkflows>;
  readonly draw: Act<typeof draw>;
  readonly ls: Act<typeof listRuns>;
  readonly workers: Act<typeof listWorkers>;
  readonly log: Act<typeof readLog>;
  readonly show: Act<typeof showCheckpoint>;
  readonly state: Act<typeof readState>;
  readonly diff: Act<typeof diffCheckpoints>;
  readonly blame: Act<typeof blameValue>;
  readonly bisect: Act<typeof bisectRun>;
  readonly graph: Act<typeof graphRuns>;
  readonly postMortem: Act<typeof postMortem>;
  readonly tag: Act<typeof tagCheckpoint>;
  readonly prune: Act<typeof pruneRuns>;
  readonly cleanup: Act<typeof cleanUp>;
  readonly rm: Act<typeof removeRun>;
  readonly release: Act<typeof releaseRuns>;
  readonly verify: Act<typeof verifyRuns>;
  readonly identity: Act<typeof storeIdentity>;
  readonly schedule: Act<typeof schedule>;
  /** The JSON Schema of workflow files, with the blocks there are here. */
  readonly schema: () => Promise<JsonSchema>;
  /** Goes on with runs and takes answers: `interview` asks for it. */
  readonly engine: Pick<Engine, 'resume' | 'answer'>;
  /** The runs of the store: read piece by piece, exported and imported. */
  readonly history: History;
  /** Withdraws what has not begun, gives runs back, and closes the store. */
  readonly close: () => Promise<void>;
}

/** Where workflows, runs and the configuration are. */
export interface CairnOptions {
  /** Where the configuration is looked for, and where paths begin. Default: the working directory. */
  readonly cwd?: string;
  /** As `--store`: `sqlite:PATH`, or `memory:`. Default: as the configuration says, else `.cairn` of the folder. */
  readonly store?: string;
  /** As `--blobs`: `s3://BUCKET/PREFIX`, or `file:FOLDER`. Default: beside the store; or as the configuration says, where it names the store. */
  readonly blobs?: string;
  /** As `--config`: a configuration file. Default: that of the folder. */
  readonly config?: string;
  /** As `--workflows`: folders of workflows, later ones override earlier ones. */
  readonly workflows?: readonly string[];
  /**
   * False for a store in files that may be somebody else's: texts of its runs are then checked against `allow` unless a file here contains
   * the same. Default true. A store on a server is never trusted so far.
   */
  readonly trustsStore?: boolean;
  /** As `--allow`: what workflows passed as texts may reach for. */
  readonly allow?: readonly string[];
  /** Called with each event of a run that a method here follows. */
  readonly watch?: (event: WatchedEvent) => void;
}
