/** The state of an agent: its conversation, its loops and its open calls. It is computed from what the node's visit has recorded. */
import type { Amounts } from '../../graph/amounts.ts';
import type { ModelMessage } from '../../graph/contracts/model-messages.ts';
import type { FrameTree, NodeRecord, NodeStatus } from '../../state/tree.ts';
import type { CallContext } from '../agent.ts';
import type { ModeName } from '../modes/text-modes.ts';
import { type AgentCall, type AgentLoopState, foldVisit } from './agent-loop-state.ts';

export interface AgentState {
  /** Node ids from the root and, between them, names of child runs. */
  readonly node: readonly string[];
  readonly status: NodeStatus;
  readonly visit: number;
  readonly mode: ModeName;
  /** The conversation since it began or since its last summary. */
  readonly messages: readonly ModelMessage[];
  /** Index of the first message after the system messages that was sent in the last request. */
  readonly historyOffset: number;
  /** Number of the model's answers so far. */
  readonly loop: number;
  /** The loops recorded in the state. Those before a summary are only in the history. */
  readonly intermediateSteps: readonly AgentLoopState[];
  /** Results of cacheable tools, by call name. */
  readonly toolCache: Readonly<Record<string, unknown>>;
  /**
   * What was sent to the model at the beginning: its instructions, and what its mode says about tools and answer format; and the input that
   * these were computed from.
   */
  readonly prompt: {
    readonly blocks: { readonly instructions?: string; readonly tools?: string };
    readonly variables: unknown;
  };
  /** For whom it works. */
  readonly callContext?: CallContext;
  /** Tool calls that have not ended. */
  readonly pendingCalls: readonly AgentCall[];
  /** Whether a model call is in progress, or was when the process died. */
  readonly isAsking: boolean;
  /** Agents used as tools that are at work, by the name of their child run. */
  readonly nested: Readonly<Record<string, AgentState>>;
  /** The final answer; absent if the agent has not ended. */
  readonly answer?: unknown;
  readonly spent?: Amounts;
}

/** The recorded visit of an agent's node. */
export interface AgentVisit {
  readonly path: readonly string[];
  readonly input: unknown;
  readonly record: NodeRecord;
}

/** @returns undefined if the record has no model call of this visit */
export function agentStateOf({ path, input, record }: AgentVisit): AgentState | undefined {
  const folded = foldVisit(record);
  if (folded === undefined) return undefined;
  const { opening, messages, headCount, omitted, loops, cache, isAsking } = folded;
  const pendingCalls = (loops.at(-1)?.calls ?? []).filter(({ status }) => status !== 'done' && status !== 'failed');
  const { context, guideFrom, mode } = opening;
  return {
    node: path,
    status: record.status,
    visit: record.visits ?? 1,
    mode,
    messages,
    historyOffset: headCount + omitted,
    loop: folded.loop,
    intermediateSteps: loops,
    toolCache: cache,
    prompt: { blocks: blocksOf(messages[0], mode, guideFrom), variables: input },
    ...(context !== undefined && { callContext: context as CallContext }),
    pendingCalls,
    isAsking,
    nested: nestedOf(path, record),
    ...(record.status === 'completed' && { answer: record.output }),
    ...(record.spent !== undefined && { spent: record.spent }),
  };
}

function blocksOf(
  first: ModelMessage | undefined,
  mode: ModeName,
  guideFrom: number | undefined,
): AgentState['prompt']['blocks'] {
  if (first?.role !== 'system') return {};
  if (guideFrom !== undefined)
    return { instructions: first.content.slice(0, guideFrom).trimEnd(), tools: first.content.slice(guideFrom) };
  return mode === 'native' ? { instructions: first.content } : { tools: first.content };
}

function nestedOf(path: readonly string[], { children = {} }: NodeRecord): Readonly<Record<string, AgentState>> {
  const found: [string, AgentState][] = [];
  for (const [name, child] of Object.entries(children)) {
    const state = agentIn([...path, name], child);
    if (state !== undefined) found.push([name, state]);
  }
  return Object.fromEntries(found);
}

/** The first agent found in a child run. */
function agentIn(path: readonly string[], { nodes, input }: FrameTree): AgentState | undefined {
  for (const [id, record] of Object.entries(nodes)) {
    const state = agentStateOf({ path: [...path, id], input, record });
    if (state !== undefined) return state;
  }
  return undefined;
}

/** Where visits of nodes can be read: a `History`. */
export interface VisitSource<Name> {
  visit(name: Name, node: string | readonly string[]): Promise<AgentVisit>;
}

/**
 * Reads the state of an agent at a checkpoint.
 * @param history - `engine.history`, or the result of `openHistory`
 * @param node - the agent's node: its id, or its path from the root with the names of child runs in between
 * @returns undefined if the node has called no model, so that it is not an agent
 * @throws the errors of `history.visit`
 */
export async function readAgentState<Name>(
  history: VisitSource<Name>,
  checkpoint: Name,
  node: string | readonly string[],
): Promise<AgentState | undefined> {
  return agentStateOf(await history.visit(checkpoint, node));
}
