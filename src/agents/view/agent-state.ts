/** An agent as it stands: its conversation, its loops, what is under way. A view, computed from what is on record of its node's visit. */
import type { Amounts } from '../../graph/amounts.ts';
import type { ModelMessage } from '../../graph/contracts/model-contract.ts';
import type { FrameTree, NodeRecord, NodeStatus } from '../../state/tree.ts';
import type { CallContext } from '../agent.ts';
import type { ModeName } from '../modes/mode.ts';
import type { AgentCall, AgentLoopState } from './agent-loop-state.ts';
import { foldVisit } from './fold-visit.ts';

export interface AgentState {
  /** Node ids from the root, with the names of child runs between them. */
  readonly node: readonly string[];
  readonly status: NodeStatus;
  readonly visit: number;
  readonly mode: ModeName;
  /** The conversation since it began, or from the summary that stands for its beginning. */
  readonly messages: readonly ModelMessage[];
  /** The place in it of the first message after the system messages that the model was sent last. */
  readonly historyOffset: number;
  /** Answers of the model so far. */
  readonly loop: number;
  /** The loops that are on record in the state; those before a summary are in the history. */
  readonly intermediateSteps: readonly AgentLoopState[];
  /** Results that equal calls take, by the call's name. */
  readonly toolCache: Readonly<Record<string, unknown>>;
  /** What it is told from the beginning: its instructions, and what its mode says of tools and form; and the input that both were made from. */
  readonly prompt: {
    readonly blocks: { readonly instructions?: string; readonly tools?: string };
    readonly variables: unknown;
  };
  /** For whom it works. */
  readonly callContext?: CallContext;
  /** Calls of tools that are not over. */
  readonly pendingCalls: readonly AgentCall[];
  /** A model is being asked, or was when the process died. */
  readonly isAsking: boolean;
  /** Agents that it uses as tools and that are at work, by the name of the child run. */
  readonly nested: Readonly<Record<string, AgentState>>;
  /** Its last word; absent: it has not ended. */
  readonly answer?: unknown;
  readonly spent?: Amounts;
}

/** A visit of an agent's node as it is on record. */
export interface AgentVisit {
  readonly path: readonly string[];
  readonly input: unknown;
  readonly record: NodeRecord;
}

/** @returns undefined: no model was asked in this visit, as far as its record tells */
export function agentStateOf({ path, input, record }: AgentVisit): AgentState | undefined {
  const folded = foldVisit(record);
  if (folded === undefined) return undefined;
  const { opening, messages, headCount, left, loops, cache, isAsking } = folded;
  const pendingCalls = (loops.at(-1)?.calls ?? []).filter(({ status }) => status !== 'done' && status !== 'failed');
  const { context, guideFrom, mode } = opening;
  return {
    node: path,
    status: record.status,
    visit: record.visits ?? 1,
    mode,
    messages,
    historyOffset: headCount + left,
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

/** The first agent of a child run. */
function agentIn(path: readonly string[], { nodes, input }: FrameTree): AgentState | undefined {
  for (const [id, record] of Object.entries(nodes)) {
    const state = agentStateOf({ path: [...path, id], input, record });
    if (state !== undefined) return state;
  }
  return undefined;
}

/** Where visits of nodes are read: a `History`. */
export interface VisitSource<Name> {
  visit(name: Name, node: string | readonly string[]): Promise<AgentVisit>;
}

/**
 * The state of an agent at a checkpoint.
 * @param history - `engine.history`, or what `openHistory` gives
 * @param node - the agent's node: its id, or its path from the root with the names of child runs between
 * @returns undefined: the node has asked no model, so it is no agent
 * @throws what `history.visit` throws
 */
export async function readAgentState<Name>(
  history: VisitSource<Name>,
  checkpoint: Name,
  node: string | readonly string[],
): Promise<AgentState | undefined> {
  return agentStateOf(await history.visit(checkpoint, node));
}
