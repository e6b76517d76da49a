/** A node's context without an engine, for testing the code of one node. */
import { createHash } from 'node:crypto';
import { CairnError } from '../../errors.ts';
import type { Amounts } from '../../graph/amounts.ts';
import { FileRef } from '../../graph/file-ref.ts';
import { accessModels } from '../../model-calls/model-access.ts';
import type { Models } from '../../ports/model.ts';
import type {
  ChildHandle,
  ChildResult,
  NodeContext,
  Question,
  StateView,
  StepOptions,
} from '../../graph/contracts/node-contract.ts';
import type { BlobAccess, FileAccess } from '../../graph/contracts/access.ts';
import type { ModelAccess } from '../../graph/contracts/model-messages.ts';
import { refuseUnknownKeys } from '../../graph/known-keys.ts';

export interface FakeContextOptions extends Partial<Omit<NodeContext, 'state' | 'secrets' | 'models'>> {
  readonly state?: Partial<StateView>;
  /** Values of secrets by name. */
  readonly secrets?: Readonly<Record<string, string>>;
  /** Answers model calls. Without it they fail with MODEL_UNKNOWN. */
  readonly models?: Models;
  /** Answers by the name of the question, in the order of asking. A question without an answer stays open. */
  readonly answers?: Readonly<Record<string, readonly unknown[]>>;
  /** Determines how a child run ends. Default: completed, with an empty state. */
  readonly runChild?: (graph: object, input: unknown, name: string | undefined) => ChildResult | Promise<ChildResult>;
}

export interface FakeStep {
  readonly name: string;
  readonly options: StepOptions;
}

/** What a node did with its context. */
export interface FakeRecord {
  readonly steps: readonly FakeStep[];
  readonly questions: readonly Question[];
  readonly events: readonly unknown[];
  /** The costs that it reported, one entry for each call. */
  readonly spendings: readonly Amounts[];
  /** The errors passed to `fail`. */
  readonly failures: readonly unknown[];
  readonly children: readonly {
    readonly name: string | undefined;
    readonly input: unknown;
    readonly entry?: string | undefined;
  }[];
  /** What was done through handles of child runs. */
  readonly childCalls: readonly FakeChildCall[];
}

export interface FakeChildCall {
  readonly child: string;
  readonly call: 'signal' | 'cancel';
  /** Name of the signal, or reason of the cancel. */
  readonly name: string | undefined;
  readonly value?: unknown;
}

export interface FakeContext extends NodeContext {
  readonly record: FakeRecord;
}

/** A state with these parts; all else is empty. */
export function createStateView(parts: Partial<StateView> = {}): StateView {
  return { input: undefined, scratch: {}, artifacts: {}, diagnostics: {}, outputs: {}, failures: {}, ...parts };
}

const noPast: NodeContext['past'] = {
  isFork: false,
  steps: () => [],
  kindOf: () => undefined,
  isRecorded: () => false,
  isAllMade: () => true,
  answeredBy: () => undefined,
  names: () => new Set(),
  answerTo: () => undefined,
  isAsked: () => false,
  isOfOtherCode: () => false,
  childOf: () => undefined,
  passOver: () => undefined,
  pass: () => undefined,
  close: () => undefined,
};

/** What is drawn from outside: always the same. */
const drawn: Pick<NodeContext, 'now' | 'random' | 'uuid'> = {
  now: () => 0,
  random: () => 0,
  uuid: () => '00000000-0000-7000-8000-000000000000',
};

/**
 * Makes a context. Its steps run at once, its questions get prepared answers, and its record shows what was called. Each part can be
 * overridden.
 */
export function createFakeContext(options: FakeContextOptions = {}): FakeContext {
  const { state, secrets = {}, answers = {}, runChild, models, ...overrides } = options;
  const steps: FakeStep[] = [];
  const questions: Question[] = [];
  const events: unknown[] = [];
  const lists = new Map<string, readonly unknown[]>();
  const spendings: Amounts[] = [];
  const failures: unknown[] = [];
  const spend: NodeContext['spend'] = (amounts) => void spendings.push(amounts);
  const children: FakeRecord['children'][number][] = [];
  const childCalls: FakeChildCall[] = [];
  const view = createStateView(state);
  const signal = options.signal ?? new AbortController().signal;
  const blobs = options.blobs ?? fakeBlobs();
  const base: NodeContext = {
    runId: '00000000-0000-7000-8000-000000000000',
    startedAt: 0,
    nodeId: 'node',
    nodePath: ['node'],
    visit: 1,
    attempt: 1,
    isResumed: false,
    input: view.input,
    state: view,
    config: undefined,
    memoryConsistency: undefined,
    cannotAct: false,
    idempotencyKey: 'key-1',
    signal,
    savedState: undefined,
    step: async (name, stepOptions, fn) => {
      steps.push({ name, options: stepOptions });
      return fn({ idempotencyKey: `key-1/${name}`, attempt: 1, signal, spend });
    },
    ask: askFrom(answers, questions),
    sleepUntil: () => leave(),
    receive: () => leave(),
    save: () => Promise.resolve(),
    retire: () => Promise.resolve(),
    retired: undefined,
    append: async (list, items) => void lists.set(list, [...(lists.get(list) ?? []), ...items]),
    list: (name) => Object.freeze([...(lists.get(name) ?? [])]),
    run: async (...args) => (await context.start(...args)).result(),
    start: async (graph, input, { name, entry } = {}) => {
      children.push({ name, input, entry });
      return fakeHandle(name ?? 'run', childCalls, async () => runChild?.(graph, input, name) ?? completed);
    },
    part: () => context,
    spend,
    fail: (error) => void failures.push(error),
    isBudgeted: () => false,
    spent: {},
    emit: (event) => void events.push(event),
    trace: () => undefined,
    secrets: { get: async (name) => secrets[name] ?? missingSecret(name) },
    blobs,
    files: fakeFiles(blobs),
    models: laterModels(() => accessModels(models, context)),
    past: noPast,
    ...drawn,
  };
  refuseUnknownKeys('createFakeContext', options, [...Object.keys(base), 'answers', 'runChild']);
  const context: FakeContext = {
    ...base,
    ...overrides,
    record: { steps, questions, events, children, childCalls, spendings, failures },
  };
  return context;
}

/** Answers questions with the prepared answers, without checking types, and notes them. */
function askFrom(answers: Readonly<Record<string, readonly unknown[]>>, questions: Question[]): NodeContext['ask'] {
  const ask = (question: Question): Promise<unknown> => {
    questions.push(question);
    const nameOf = ({ name = 'question' }: Question): string => name;
    const count = questions.filter((other) => nameOf(other) === nameOf(question)).length;
    const list = answers[nameOf(question)] ?? [];
    return count <= list.length ? Promise.resolve(list[count - 1]) : leave();
  };
  return ask as NodeContext['ask'];
}

const completed: ChildResult = { status: 'completed', state: createStateView() };

/** A handle of a child run that ends when its result is requested. */
function fakeHandle(child: string, calls: FakeChildCall[], end: () => Promise<ChildResult>): ChildHandle {
  let ended: Promise<ChildResult> | undefined;
  const result = (): Promise<ChildResult> => (ended ??= end());
  return {
    name: child,
    result,
    signal: async (name, value = null) => void calls.push({ child, call: 'signal', name, value }),
    cancel: async (reason) => void calls.push({ child, call: 'cancel', name: reason }),
    state: async () => (await result()).state,
    stateIn: () => Promise.resolve(null),
    isInDoubt: () => Promise.resolve(false),
  };
}

function fakeFiles(blobs: BlobAccess): FileAccess {
  return {
    put: async (bytes, { name, type = 'application/octet-stream' }) =>
      new FileRef({ hash: await blobs.put(bytes), name, type, sizeBytes: bytes.byteLength }),
    get: ({ hash }) => blobs.get(hash),
  };
}

function fakeBlobs(): BlobAccess {
  const blobs = new Map<string, Uint8Array>();
  return {
    put: (bytes) => {
      const hash = createHash('sha256').update(bytes).digest('hex');
      blobs.set(hash, bytes);
      return Promise.resolve(hash);
    },
    get: (hash) => Promise.resolve(blobs.get(hash) ?? new Uint8Array()),
  };
}

/** Like an open wait in the engine: the function stops here. */
function leave<T>(): Promise<T> {
  return new Promise<T>(() => undefined);
}

function missingSecret(name: string): never {
  throw new CairnError('SECRET_MISSING', { name });
}

/** Models of a context that is still being made. */
function laterModels(open: () => ModelAccess): ModelAccess {
  return {
    generate: (...call) => open().generate(...call),
    embed: (...call) => open().embed(...call),
    rerank: (...call) => open().rerank(...call),
    transcribe: (...call) => open().transcribe(...call),
    generateImages: (...call) => open().generateImages(...call),
  };
}
