/** The NodeContext of one attempt, which is passed to the node's function. */
import { CairnError } from '../../errors.ts';
import { admitValue } from '../../state/values/admit.ts';
import { encodeValue } from '../../state/values/encode.ts';
import { checkId } from '../validate/check-id.ts';
import { offloadForm } from '../validate/offload.ts';
import { checkWritten } from '../validate/checkpoint-size.ts';
import { tellEvent, keepBeside } from '../visit-records/recorded-events.ts';
import { dropUnmade } from '../visit-records/list-record.ts';
import { draw } from '../visit-records/drawn-values.ts';
import type { Activation } from '../live-run/loop.ts';
import { type RunCore, guardCall, refusal } from '../live-run/run-core.ts';
import { runFailureOf } from '../live-run/run-ending.ts';
import type { PastChild, PastStep, VisitPast } from '../../graph/contracts/visit-past.ts';
import type { OnWaiting, PartOptions } from '../../graph/contracts/parts.ts';
import type { BlobAccess, FileAccess, SecretReader } from '../../graph/contracts/access.ts';
import type { ModelAccess } from '../../graph/contracts/model-messages.ts';
import type { SpanParts, TraceSpan } from '../../graph/contracts/trace-span.ts';
import { mayCallOtherwise } from '../visit-records/continued-visits.ts';
import { isOnRecord, nameOfStepKey, passKey, recordedStep, upcomingKey } from '../visit-records/call-keys.ts';
import { renamedPast } from '../../graph/contracts/scoped-past.ts';
import type { NodeRecord, DrawnKind, DrawnValue, FrameTree, StepRecord } from '../../state/tree.ts';
import { ensureSteps } from '../visit-records/step-record.ts';
import type { Amounts } from '../../graph/amounts.ts';
import type {
  ChildHandle,
  ChildResult,
  EmitOptions,
  ChildRunOptions,
  NodeContext,
  Question,
  ReceiveOptions,
  StateView,
  StepContext,
  StepOptions,
} from '../../graph/contracts/node-contract.ts';
import type { AnswerTo } from '../../graph/contracts/answer-types.ts';
import { graphOf } from '../../graph/runnable-graph.ts';
import { recordedIdOf } from '../../graph/compile/recorded-names.ts';
import type { MemoryConsistency } from '../../graph/contracts/memory-consistency.ts';
import { deepFreeze } from '../../state/values/freeze.ts';
import { isBudgeted } from '../effects/begin.ts';
import { asOtherModel, otherModelOf } from '../live-run/other-model.ts';
import { accessModels } from '../../model-calls/model-access.ts';
import { append, listOf } from './append.ts';
import { startChild } from './child.ts';
import { placesOfProviders } from '../effects/enter-places.ts';
import { spend } from '../visit-records/account.ts';
import { readRetired, retire } from './retire.ts';
import { accessFiles } from './file-access.ts';
import { accessSecrets } from './secret-access.ts';
import { runStep } from './steps.ts';
import { ask, receive, sleepUntil } from './wait-calls.ts';
import { timeOf } from '../waits/pass-time.ts';
import { dropWaitsOf } from '../waits/open-wait.ts';
import { closeQuestions, fingerprintOf, isOfOtherCode } from '../waits/changed-waits.ts';

// `ctx.emit` of a recorded event. It is validated, and pending until it is recorded together with the node's next call.

/** @throws ID_INVALID, VALUE_UNSTORABLE, VALUE_TOO_LARGE, CHECKPOINT_TOO_LARGE */
function emitRecorded(core: RunCore, activation: Activation, name: string, event: unknown): void {
  const { bounds } = core.env;
  checkId('event name', name, bounds.idBytes);
  const path = [...activation.path, name];
  // Changes are read without the state, so an event is stored in its change completely.
  const admitted = admitValue(event, path, { ...bounds, valueBytes: bounds.inlineBytes }, core.secrets.intake);
  if (admitted.hasTags)
    throw new CairnError('VALUE_UNSTORABLE', {
      path: path.join('.'),
      reason: 'a recorded event is plain JSON: no dates, bytes, files, or undefined',
    });
  checkWritten(core, activation, () => [{ path, ...admitted }]);
  tellEvent(activation, { name, detail: admitted.value });
}

// `ctx.past`: what is recorded of a visit, for functions that check that they repeat themselves.

/** @param generation - of the attempt that asks */
function pastOf(core: RunCore, activation: Activation, generation: number): VisitPast {
  const { replay } = core;
  const { inCode: renamed } = activation.node;
  const past: VisitPast = {
    isFork: mayCallOtherwise(activation),
    steps: () => stepsOf(activation),
    kindOf: (name) => {
      const kind = recordedStep(activation, upcomingKey(activation, name))?.kind;
      if (kind === 'ask') return 'question';
      return kind === 'step' ? kind : undefined;
    },
    isRecorded: (name) => {
      const key = upcomingKey(activation, name);
      return recordedStep(activation, key) !== undefined || replay?.hasCall(activation, key) === true;
    },
    isAllMade: () => recordedCalls(activation).every(({ key }) => activation.calls?.includes(key) === true),
    answeredBy: (name) =>
      Object.entries(activation.frameRun.openRecordOf(activation.node)?.steps ?? {}).findLast(
        ([key, { kind }]) => kind === 'ask' && nameOfStepKey(key) === name,
      )?.[1].by,
    answerTo: (name) => {
      const answered = Object.entries(activation.frameRun.openRecordOf(activation.node)?.steps ?? {}).findLast(
        ([key, { kind, status }]) => kind === 'ask' && status === 'done' && nameOfStepKey(key) === name,
      )?.[1];
      return answered && { value: answered.output };
    },
    isAsked: (name, identity) => {
      const recordedQuestion = recordedStep(activation, upcomingKey(activation, name))?.asked;
      return recordedQuestion !== undefined && recordedQuestion === fingerprintOf(core, identity);
    },
    isOfOtherCode: (name) => {
      const recorded = recordedStep(activation, upcomingKey(activation, name));
      return recorded !== undefined && isOfOtherCode(core, activation, recorded);
    },
    childOf: (name) => childOf(activation, upcomingKey(activation, name)),
    names: () => new Set(recordedCalls(activation).map(({ key }) => nameOfStepKey(key))),
    passOver: (isPassed) => {
      if (activation.generation !== generation) return;
      for (const { key, isOver } of recordedCalls(activation))
        if (isOver && isPassed(nameOfStepKey(key))) passKey(activation, key);
    },
    pass: (names) => {
      if (activation.generation !== generation) return;
      for (const name of names)
        for (let key = upcomingKey(activation, name); isOver(activation, key); key = upcomingKey(activation, name))
          passKey(activation, key);
    },
    close: (names) => {
      if (activation.generation !== generation) return;
      const keys = keysOf(activation, names);
      closeQuestions(core, activation, keys);
      const { children = {} } = activation.frameRun.openRecordOf(activation.node) ?? {};
      for (const key of keys) if (Object.hasOwn(children, key)) dropWaitsOf(core, [...activation.path, key]);
    },
  };
  return renamed === undefined || renamed.steps.size === 0 ? past : renamedPast(past, renamed.steps);
}

/** The name under which a call of the function is on record: another one if the code has renamed it since (G15). */
function recordedName({ node: { inCode } }: Activation, name: string): string {
  return inCode?.steps.get(name) ?? name;
}

function stepsOf({ frameRun, node }: Activation): readonly PastStep[] {
  const steps = frameRun.openRecordOf(node)?.steps ?? {};
  return Object.entries(steps).flatMap(([key, { kind, status, output, effect, left }]) =>
    kind === 'step' && status !== 'open'
      ? [
          {
            name: nameOfStepKey(key),
            status,
            output,
            ...(effect && { effect }),
            ...(left === true && { isLeft: left }),
          },
        ]
      : [],
  );
}

function childOf({ frameRun, node }: Activation, key: string): PastChild | undefined {
  const { children } = frameRun.openRecordOf(node) ?? {};
  if (children === undefined || !Object.hasOwn(children, key)) return undefined;
  const { graph, nodes, channels, failure } = children[key] as FrameTree;
  const records = Object.entries(nodes);
  return {
    graph,
    isOver: failure !== undefined || records.every(([, { fired }]) => fired !== undefined),
    outputs: Object.fromEntries(
      records.flatMap(([id, { status, output }]) => (status === 'completed' ? [[id, output]] : [])),
    ),
    artifacts: channels.artifacts ?? {},
  };
}

const hasEnded = ({ status }: StepRecord): boolean => status !== 'started' && status !== 'open';

/** Whether a call is on record, and it is known how it ended. Of child runs their own records tell. */
function isOver({ frameRun, node }: Activation, key: string): boolean {
  const { steps = {}, children = {} } = frameRun.openRecordOf(node) ?? {};
  return Object.hasOwn(steps, key) ? hasEnded(steps[key] as StepRecord) : Object.hasOwn(children, key);
}

/** The recorded keys of these names that this attempt has not called. */
function keysOf(activation: Activation, names: Iterable<string>): readonly string[] {
  const wanted = new Set(names);
  const called = new Set(activation.calls);
  const { steps = {}, children = {} } = activation.frameRun.openRecordOf(activation.node) ?? {};
  const keys = [...Object.keys(steps), ...Object.keys(children)];
  return keys.filter((key) => !called.has(key) && wanted.has(nameOfStepKey(key)));
}

/** The recorded calls: their keys, and whether it is known how they ended. */
function recordedCalls({ frameRun, node }: Activation): readonly { readonly key: string; readonly isOver: boolean }[] {
  const { steps = {}, children = {} } = frameRun.openRecordOf(node) ?? {};
  const own = Object.entries(steps).map(([key, step]) => ({ key, isOver: hasEnded(step) }));
  return [...own, ...Object.keys(children).map((key) => ({ key, isOver: true }))];
}

// `ctx.save`: saves a composed node's inner state and retires its recorded calls (X4.6).

/**
 * Saves the state. Child runs whose result the function does not have yet stay under their names; everything else recorded is retired.
 * @throws NODE_CALL_REFUSED, VALUE_UNSTORABLE, CHECKPOINT_TOO_LARGE
 */
async function save(core: RunCore, activation: Activation, state: unknown): Promise<void> {
  const { generation } = activation;
  // Decided now: a child that ends later was still running for the function when it saved.
  const pendingKeys = [...(activation.children?.keys() ?? [])];
  const path = [...activation.path, 'saved'];
  const admitted = admitValue(state, path, core.env.bounds, core.secrets.intake);
  checkWritten(core, activation, () => [{ path, ...admitted }]);
  const saved = await offloadForm(core, admitted.value);
  await dropUnmade(core, activation);
  guardCall(activation, generation, 'save');
  if (activation.stepsInFlight + activation.openWaits > 0)
    throw new CairnError('NODE_CALL_REFUSED', {
      call: 'save',
      node: activation.path.join('/'),
      reason: 'steps or waits are still under way',
    });
  const record = ensureSteps(activation);
  const { frame } = activation.frameRun;
  const { id } = activation.node;
  const { saves = 0 } = record;
  retireChildren(activation, record, pendingKeys);
  frame.setNodeField(id, 'saved', admitted.value, encodeValue(saved));
  frame.setNodeField(id, 'saves', saves + 1, String(saves + 1));
  frame.setNodeField(id, 'steps', {}, '{}');
  frame.deleteNodeField(id, 'retired');
  frame.deleteNodeField(id, 'continued');
  keepBeside(core, activation);
  activation.forgetCalls(pendingKeys);
  core.draft.note({ kind: 'save', node: activation.path });
  await core.loop.durable();
}

/** Retires the records of child runs, except inside of those that stay. */
function retireChildren(
  { frameRun: { frame }, node: { id } }: Activation,
  { saves = 0, children = {} }: NodeRecord,
  pendingKeys: readonly string[],
): void {
  if (pendingKeys.length === 0) return frame.deleteNodeField(id, 'children');
  for (const [key, { born }] of Object.entries(children)) {
    if (!pendingKeys.includes(key)) frame.deleteNodeField(id, ['children', key]);
    else if (born === undefined) frame.setNodeField(id, ['children', key, 'born'], saves, String(saves));
  }
}

/** A context belongs to one attempt. Calls made after its end are refused. */
export class Context implements NodeContext {
  readonly #core: RunCore;
  readonly #activation: Activation;
  readonly #generation: number;
  readonly #onWaiting: OnWaiting | undefined;
  readonly #isOrdered: boolean;

  constructor(core: RunCore, activation: Activation, onWaiting?: OnWaiting, isOrdered = true) {
    this.#core = core;
    this.#activation = activation;
    this.#generation = activation.generation;
    this.#onWaiting = onWaiting;
    this.#isOrdered = isOrdered;
  }

  get runId(): string {
    return this.#core.runId;
  }
  get startedAt(): number {
    return this.#core.run.createdAt;
  }
  get nodeId(): string {
    const { id, inCode } = this.#activation.node;
    return inCode?.node ?? id;
  }
  get nodePath(): readonly string[] {
    return this.#activation.path;
  }
  get visit(): number {
    return this.#activation.visit;
  }
  get attempt(): number {
    return this.#activation.attempt;
  }
  get isResumed(): boolean {
    return this.#activation.isResumed;
  }
  get cancel(): NodeContext['cancel'] {
    const { cancel } = this.#core.root;
    if (cancel === undefined) return undefined;
    const { reason, by } = cancel;
    return { ...(reason !== undefined && { reason }), ...(by !== undefined && { by }) };
  }
  get failure(): NodeContext['failure'] {
    return runFailureOf(this.#core.root);
  }
  get input(): unknown {
    return this.#activation.view.state.input;
  }
  get state(): StateView {
    return this.#activation.view.state;
  }
  get config(): unknown {
    return this.#activation.node.config;
  }
  get memoryConsistency(): MemoryConsistency | undefined {
    return this.#activation.node.memoryConsistency;
  }
  get cannotAct(): boolean {
    return this.#core.root.noEffects !== undefined;
  }
  get idempotencyKey(): string {
    const intent = this.#activation.frameRun.openRecordOf(this.#activation.node)?.intent;
    return intent?.key ?? this.#activation.keyFor(this.#core.keySeed);
  }
  get signal(): AbortSignal {
    return this.#activation.signal;
  }
  get savedState(): unknown {
    return deepFreeze(this.#activation.frameRun.openRecordOf(this.#activation.node)?.saved);
  }

  /** Refuses calls of an attempt that is over, even if another attempt is running (X4). */
  #guard(call: string): void {
    guardCall(this.#activation, this.#generation, call);
  }

  /** A name as it is recorded: the one of before it was renamed, with secrets masked, unless a call is on record under it from before the run knew them. */
  #recorded(inCode: string): string {
    const name = recordedName(this.#activation, inCode);
    const { mask } = this.#core.secrets;
    if (mask === undefined || typeof name !== 'string') return name;
    return isOnRecord(this.#activation, name) ? name : mask.text(name);
  }

  /** Makes a call, unless its attempt or the run is over here. */
  async #call<T>(call: string, make: () => Promise<T>): Promise<T> {
    this.#guard(call);
    const refused = refusal(this.#core, this.#activation);
    return refused ?? make();
  }

  step<T>(name: string, options: StepOptions, fn: (step: StepContext) => Promise<T> | T): Promise<T> {
    return this.#call('step', () =>
      runStep(this.#core, this.#activation, this.#recorded(name), options, fn, this.#onWaiting),
    );
  }
  ask<const Q extends Question>(question: Q): Promise<AnswerTo<Q>> {
    return this.#call('ask', async () => {
      // The answer was checked against the question when it was accepted.
      const { name } = (question ?? {}) as Partial<Question>;
      const named = name === undefined ? question : { ...question, name: this.#recorded(name) };
      return (await ask(this.#core, this.#activation, named, this.#onWaiting)) as AnswerTo<Q>;
    });
  }
  sleepUntil(time: number | Date, name = 'sleep'): Promise<void> {
    return this.#call('sleepUntil', () =>
      sleepUntil(this.#core, this.#activation, time, this.#recorded(name), this.#onWaiting),
    );
  }
  receive<Value>(signal: string, options: ReceiveOptions<Value> = {}): Promise<Value> {
    // Without a schema the type is unknown, as the contract says.
    return this.#call(
      'receive',
      () => receive(this.#core, this.#activation, signal, options, this.#onWaiting) as Promise<Value>,
    );
  }
  save(state: unknown): Promise<void> {
    return this.#call('save', () => save(this.#core, this.#activation, state));
  }
  retire(from: unknown, options: { readonly keep?: readonly string[] } = {}): Promise<void> {
    return this.#call('retire', () => retire(this.#core, this.#activation, from, options.keep ?? []));
  }
  get retired(): unknown {
    return readRetired(this.#activation, this.#generation);
  }
  append(list: string, items: readonly unknown[]): Promise<void> {
    return this.#call('append', () => append(this.#core, this.#activation, this.#recorded(list), items));
  }
  list(name: string): readonly unknown[] {
    return listOf(this.#activation, this.#recorded(name));
  }
  run(graph: object, input: unknown, options: ChildRunOptions = {}): Promise<ChildResult> {
    return this.#call('run', async () => {
      const child = await this.#start(graph, input, options);
      return child.result();
    });
  }
  start(graph: object, input: unknown, options: ChildRunOptions = {}): Promise<ChildHandle> {
    return this.#call('start', () => this.#start(graph, input, options));
  }
  #start(graph: object, input: unknown, { name = 'run', entry }: ChildRunOptions): Promise<ChildHandle> {
    const found = graphOf(graph);
    if (found === undefined)
      throw new CairnError('NODE_CALL_REFUSED', {
        call: 'run',
        node: this.nodePath.join('/'),
        reason: `what is to run as ${JSON.stringify(name)} is no graph, compiled or not`,
      });
    const call = { graph: found, input, entry: entry === undefined ? undefined : recordedIdOf(found, entry) };
    return startChild(this.#core, this.#activation, call, {
      name: this.#recorded(name),
      onWaiting: this.#onWaiting,
      isOrdered: this.#isOrdered,
    });
  }
  part(onWaiting: OnWaiting, { isOrdered = false }: PartOptions = {}): NodeContext {
    this.#guard('part');
    return new Context(this.#core, this.#activation, onWaiting, isOrdered);
  }
  spend(amounts: Amounts): void {
    const { generation, phase } = this.#activation;
    const { ledger } = this.#core;
    const charge = ledger.chargeOf(this.#activation);
    // The attempt that reports the cost may be over. A step that is over reports that itself.
    if (charge.step === undefined && (generation !== this.#generation || phase !== 'running')) charge.isOver = true;
    spend(this.#core, charge, amounts);
  }
  isBudgeted(unit: string): boolean {
    return isBudgeted(this.#activation, unit);
  }
  get spent(): Amounts {
    return this.#activation.view.spent;
  }
  emit(event: unknown, options: EmitOptions = {}): void {
    if (options.recorded === true) {
      this.#guard('emit');
      return emitRecorded(this.#core, this.#activation, this.#recorded(options.name ?? 'event'), event);
    }
    const { mask } = this.#core.secrets;
    this.#core.loop.publishLive('emitted', this.#activation, mask === undefined ? event : mask.all(event));
  }
  trace(name: string, parts: SpanParts = {}): TraceSpan | undefined {
    const { generation } = this.#activation;
    return generation === this.#generation ? this.#core.loop.trace(this.#activation, name, parts) : undefined;
  }
  fail(error: unknown): void {
    if (this.#activation.generation === this.#generation) this.#activation.failure ??= { error };
  }
  get secrets(): SecretReader {
    return accessSecrets(this.#core);
  }
  get files(): FileAccess {
    return accessFiles(this.#core.env, this.#core.run, this.#core.secrets);
  }
  get models(): ModelAccess {
    const models = accessModels(this.#core.env.models, this, placesOfProviders(this.#core, this.#activation));
    const other = otherModelOf(this.#core.root.noEffects ?? {}, this.#activation.path);
    return other === undefined ? models : asOtherModel(models, other);
  }
  get blobs(): BlobAccess {
    const { env, run, secrets } = this.#core;
    return {
      put: (bytes) => env.blobs.put(run, secrets.mask?.bytes(bytes) ?? bytes),
      get: (hash) => env.blobs.get(run.tenant, hash),
    };
  }
  get past(): VisitPast {
    return pastOf(this.#core, this.#activation, this.#generation);
  }
  now(): number {
    return this.#draw('now', () => timeOf(this.#core));
  }
  random(): number {
    return this.#draw('random', () => this.#core.env.ids.random());
  }
  uuid(): string {
    const { ids, clock } = this.#core.env;
    return this.#draw('uuid', () => ids.createRunId(clock.now()));
  }
  /** Of an attempt that is over nothing is recorded any more. */
  #draw<Value extends DrawnValue>(kind: DrawnKind, make: () => Value): Value {
    if (this.#activation.generation !== this.#generation) return make();
    return draw(this.#core, this.#activation, kind, make);
  }
}
