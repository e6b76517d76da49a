/**
 * Approval of a node: a question before it, as a node of its own called `ID?`. The question fixes the node's input: what was shown, as edited,
 * is what the node gets, whatever is written meanwhile (G14).
 */
import { functionCondition } from '../graph/condition.ts';
import { hashValue } from '../graph/canonical.ts';
import { NodeFailure, type NodeContext, type Question, type StateView } from '../graph/contracts/node-contract.ts';
import { allowedInside, strengthOfNode } from '../graph/effect-strength.ts';
import type { Condition, EdgeDefinition, NodeDefinition } from '../graph/graph.ts';
import { approvalSchema, readApproval } from '../schema/approval-answer.ts';

type ApprovalScope<State> = { readonly state: State; readonly input: unknown };

/** How a person is asked before a node runs. */
export interface NodeApproval<State = StateView> {
  readonly prompt: string | ((scope: ApprovalScope<State>) => string);
  /** Whether to ask at all. If not, the node runs. Default: always. */
  readonly when?: (scope: ApprovalScope<State>) => boolean;
  /** Names of the fields of the node's input that the person may change. Default: none. */
  readonly edit?: readonly string[];
  /** A text that this matches is an approval, and any other a refusal with that reason. Default: texts are not answers. */
  readonly accepts?: RegExp;
  /** How long the question stays open, in milliseconds. The time goes on counting while the process is down. */
  readonly deadlineMs?: number;
  /** What happens then. Default `fail`: the question fails with NODE_TIMED_OUT. */
  readonly onDeadline?: 'approve' | 'reject' | 'fail';
  /** `skip` (default): the node is skipped, and what hangs on it. `fail`: the question fails with APPROVAL_REJECTED. */
  readonly onRejected?: 'skip' | 'fail';
  /** Whose question it is. Default `staff`. */
  readonly audience?: Question['audience'];
  /** Whose answers are taken: people by name, and roles such as `role:finance` (W8). Default: everybody's. */
  readonly for?: Question['for'];
  /** Another question of the run: who answered that, or started the run, does not answer this (W8). */
  readonly fourEyes?: string;
  /** When the question is reminded of, in ms from when it is asked (W9). */
  readonly remindAfterMs?: Question['remindAfterMs'];
  /** From when on, in ms, it is for those of `escalateTo` too (W9). */
  readonly escalateAfterMs?: number;
  readonly escalateTo?: readonly string[];
}

/** What of an approval is said of the question as it is. */
const asking = ['for', 'fourEyes', 'remindAfterMs', 'escalateAfterMs', 'escalateTo'] as const satisfies readonly (keyof Question)[]; // prettier-ignore

const names = ['prompt', 'when', 'edit', 'accepts', 'deadlineMs', 'onDeadline', 'onRejected', 'audience', ...asking] as const satisfies readonly (keyof NodeApproval)[]; // prettier-ignore

/** The output of the question before a node. */
export interface Approved {
  readonly approved: boolean;
  /** Hash of `input`, or of what was shown if it was refused. */
  readonly hash: string;
  /** The node's input, as edited. Absent if it was refused. */
  readonly input?: unknown;
  readonly feedback?: string;
  /** Who answered; absent if nobody was asked. */
  readonly by?: string;
}

/** Id of the question before a node. */
export const approvalId = (node: string): string => `${node}?`;

/** Condition of an edge that leaves a question, for its answer. */
export const answeredAs = (approved: boolean): Condition =>
  functionCondition(({ outcome }) => (outcome.output as Approved | undefined)?.approved === approved, {
    text: approved ? 'approved' : 'rejected',
  });

/** A node that needs an approval: the question, and how its input is made. */
export interface ApprovedNode {
  readonly approval: NodeApproval<never>;
  readonly input: (scope: { readonly state: StateView }, ctx: NodeContext) => unknown;
  /**
   * What identifies the question of a node that was read from a text: its functions are made of that. Such a node takes what was approved
   * from the question's output by itself.
   */
  readonly written?: unknown;
}

/** Puts the questions before their nodes: edges to a node lead to its question, and from there to the node. */
export function layApprovals(
  nodes: readonly NodeDefinition[],
  edges: readonly EdgeDefinition[],
  approvals: ReadonlyMap<string, ApprovedNode>,
  renamed: Readonly<Record<string, string>> = {},
): { readonly nodes: readonly NodeDefinition[]; readonly edges: readonly EdgeDefinition[] } {
  if (approvals.size === 0) return { nodes, edges };
  const links = edges.map((edge) =>
    approvals.has(edge.to) ? { ...edge, to: approvalId(edge.to), label: edge.label ?? edge.to } : edge,
  );
  const laid = nodes.flatMap((node): readonly NodeDefinition[] => {
    const of = approvals.get(node.id);
    if (of === undefined) return [node];
    const { when: _when, join: _join, ...rest } = node;
    const at = node.place === undefined ? {} : { place: node.place };
    links.push({ from: approvalId(node.id), to: node.id, condition: answeredAs(true), ...at });
    const implementation = of.written === undefined ? approvedWork(node) : node.implementation;
    return [questionNode(node, of, renamed[node.id] ?? node.id), { ...rest, implementation }];
  });
  return { nodes: laid, edges: links };
}

function questionNode(node: NodeDefinition, of: ApprovedNode, recorded: string): NodeDefinition {
  const { id, when, join, place, onFailure, maxVisits } = node;
  const { approval, input, written } = of;
  const { accepts, edit = [], deadlineMs, onDeadline, onRejected, audience = 'staff', prompt } = approval;
  return {
    id: approvalId(id),
    type: 'approval',
    effect: 'human',
    config: { node: recorded, edit, audience, onDeadline, onRejected, deadlineMs, accepts: accepts?.source, prompt: typeof prompt === 'string' ? prompt : null, ...askingOf(approval), ...(written !== undefined && { written }) }, // prettier-ignore
    implementation: {
      run: (ctx) => ask(ctx, { node, recorded, approval: approval as NodeApproval, inputOf: input }),
      codeText: written === undefined ? [input, approval.when ?? '', prompt].map(String).join('\n') : 'approval',
      outputFault: approvedFault,
    },
    ...(when === undefined ? {} : { when }),
    ...(join === undefined ? {} : { join }),
    ...(place === undefined ? {} : { place }),
    ...(onFailure === undefined ? {} : { onFailure }),
    ...(maxVisits === undefined ? {} : { maxVisits }),
  };
}

function askingOf(approval: NodeApproval<never>): Partial<Question> {
  return Object.fromEntries(asking.flatMap((name) => (approval[name] === undefined ? [] : [[name, approval[name]]])));
}

/** Checks an output that a fork sets: an approval is of the input that it holds. */
function approvedFault(output: unknown): string | undefined {
  const { approved, hash, input } = (output ?? {}) as Partial<Approved>;
  if (typeof approved !== 'boolean') return 'it is no { approved, hash, input }';
  return approved && hash !== hashOf(input) ? 'its hash is not that of its input' : undefined;
}

/** The node that a question is about. */
interface QuestionedNode {
  readonly node: NodeDefinition;
  /** The id under which runs have it on record. */
  readonly recorded: string;
  readonly approval: NodeApproval;
  readonly inputOf: ApprovedNode['input'];
}

async function ask(ctx: NodeContext, { node, recorded: id, approval, inputOf }: QuestionedNode): Promise<Approved> {
  const { state } = ctx;
  const input = inputOf({ state }, ctx);
  const hash = hashOf(input);
  const { edit = [], accepts, deadlineMs, onRejected = 'skip', audience = 'staff', prompt } = approval;
  if (approval.when?.({ state, input }) === false)
    return { approved: true, hash, ...(input !== undefined && { input }) };
  const data = edit.length === 0 ? undefined : { type: 'object', additionalProperties: false, properties: Object.fromEntries(edit.map((name) => [name, {}])) }; // prettier-ignore
  const answer = await ctx.ask({
    prompt: typeof prompt === 'string' ? prompt : prompt({ state, input }),
    choices: ['approve', 'reject'],
    matching: 'open',
    schema: approvalSchema(data, accepts !== undefined),
    metadata: { node: id, input, hash, edit, ...allowedInside(strengthOfNode(node)) },
    isApproval: true,
    audience,
    ...askingOf(approval),
    ...(deadlineMs !== undefined && { timeoutMs: deadlineMs, ...lateAnswer(approval.onDeadline) }),
  });
  const { approved, feedback, data: changed } = readApproval(answer, accepts);
  const by = ctx.past.answeredBy('question');
  const recorded = { ...(feedback !== undefined && { feedback }), ...(by !== undefined && { by }) };
  if (approved) {
    const edited = changed === undefined ? input : { ...(input as object), ...(changed as object) };
    return { approved, hash: hashOf(edited), ...(edited !== undefined && { input: edited }), ...recorded };
  }
  if (onRejected === 'skip') return { approved, hash, ...recorded };
  const reason = `${id} was rejected${by === undefined ? '' : ` by ${by}`}${feedback === undefined ? '' : `: ${feedback}`}`;
  throw new NodeFailure(reason, { code: 'APPROVAL_REJECTED', data: { node: id, ...recorded } });
}

function lateAnswer(onDeadline: NodeApproval['onDeadline']): { readonly defaultAnswer?: unknown } {
  if (onDeadline === undefined || onDeadline === 'fail') return {};
  return { defaultAnswer: { is_approved: onDeadline === 'approve', feedback: 'nobody answered in time' } };
}

function approvedWork({ id, implementation }: NodeDefinition): NodeDefinition['implementation'] {
  return withInput(implementation, ({ outputs }) => (outputs[approvalId(id)] as Approved).input);
}

/** States as their nodes have them whose input is another: with the state behind each. */
const behind = new WeakMap<StateView, StateView>();

/** The state whose input is that of the run or child run, for a node that was given another. */
export function stateOfRun(state: StateView): StateView {
  const whole = behind.get(state);
  return whole === undefined ? state : stateOfRun(whole);
}

/** The implementation with another input, as `ctx.input` and as the state's input. @param inputOf - makes it of the state, when it is read */
export function withInput(
  implementation: NodeDefinition['implementation'],
  inputOf: (state: StateView) => unknown,
): NodeDefinition['implementation'] {
  const codeText = implementation.codeText ?? String(implementation.run);
  const scoped = (ctx: NodeContext): NodeContext => {
    const { state } = ctx;
    const input = (): unknown => inputOf(state);
    const view = Object.create(null) as StateView;
    for (const key of Object.keys(state) as (keyof StateView)[])
      Object.defineProperty(view, key, { enumerable: true, get: key === 'input' ? input : () => state[key] });
    behind.set(view, state);
    return contextWith(ctx, { input, state: () => view });
  };
  return { ...implementation, codeText, run: (ctx) => implementation.run(scoped(ctx)) };
}

function hashOf(input: unknown): string {
  return hashValue(input === undefined ? null : input).slice(0, 16);
}

/** Where faults of a graph that is being written are reported. */
interface FaultReport {
  add(fault: {
    readonly rule: string;
    readonly place?: string | undefined;
    readonly message: string;
    readonly fix: string;
  }): void;
  checkOptions(options: object, known: readonly string[], of: string, place?: string): unknown;
}

/** Checks the setting; returns undefined if it cannot be used. */
export function checkApproval(
  id: string,
  approval: NodeApproval<never>,
  faults: FaultReport,
  place: string | undefined,
): NodeApproval<never> | undefined {
  const fault = (message: string, fix: string): undefined =>
    faults.add({ rule: 'G14', place, message: `approval of node ${id}: ${message}`, fix }) as undefined;
  if (typeof approval !== 'object' || approval === null) return fault('it is no object', "write { prompt: '…' }");
  faults.checkOptions(approval, names, `the approval of node ${id}`, place);
  const { prompt, edit = [], accepts, deadlineMs, onDeadline, onRejected, audience } = approval;
  const isOneOf = (value: unknown, ...known: readonly unknown[]): boolean =>
    value === undefined || known.includes(value);
  if (typeof prompt !== 'string' && typeof prompt !== 'function') return fault('it has no prompt', "give it: { prompt: 'Send?' }"); // prettier-ignore
  if (!Array.isArray(edit) || !edit.every((name) => typeof name === 'string')) return fault('edit is no list of names', "write edit: ['to']"); // prettier-ignore
  if (accepts !== undefined && !(accepts instanceof RegExp && !accepts.global && !accepts.sticky)) return fault('accepts is no regular expression without the flags g and y', 'write accepts: /^ok/i'); // prettier-ignore
  if (deadlineMs !== undefined && !(Number.isFinite(deadlineMs) && deadlineMs > 0)) return fault('deadlineMs is no number over 0', 'give milliseconds'); // prettier-ignore
  if (onDeadline !== undefined && deadlineMs === undefined) return fault('onDeadline has no effect without deadlineMs', 'give both'); // prettier-ignore
  if (!isOneOf(onDeadline, 'approve', 'reject', 'fail')) return fault('onDeadline is not known', "use 'approve', 'reject' or 'fail'"); // prettier-ignore
  if (!isOneOf(onRejected, 'skip', 'fail')) return fault('onRejected is not known', "use 'skip' or 'fail'");
  const { for: assignees, fourEyes, escalateAfterMs, escalateTo } = approval;
  if (assignees !== undefined && !(Array.isArray(assignees) && assignees.every((one) => typeof one === 'string'))) return fault('for is no list of names', "write for: ['role:finance', 'ann']"); // prettier-ignore
  if (fourEyes !== undefined && ![undefined, 'fail'].includes(onDeadline)) return fault('onDeadline would stand for the eyes of a person, which fourEyes asks for', "use 'fail'"); // prettier-ignore
  if ((escalateAfterMs === undefined) !== (escalateTo === undefined)) return fault('escalateAfterMs and escalateTo have no effect alone', 'give both'); // prettier-ignore
  if (!isOneOf(audience, 'staff', 'user')) return fault('audience is not known', "use 'staff' or 'user'");
  return approval;
}

/** A context with other values of some properties, each made when it is first read. Methods are those of the context itself. */
export function contextWith(ctx: NodeContext, made: Readonly<Record<string, () => unknown>>): NodeContext {
  const values = new Map<PropertyKey, unknown>();
  return new Proxy(ctx, {
    get(target, key) {
      const make = typeof key === 'string' && Object.hasOwn(made, key) ? made[key] : undefined;
      if (make !== undefined && !values.has(key)) values.set(key, make());
      if (values.has(key)) return values.get(key);
      const value: unknown = Reflect.get(target, key, target);
      if (typeof value !== 'function') return value;
      const bound: unknown = value.bind(target);
      values.set(key, bound);
      return bound;
    },
  });
}
