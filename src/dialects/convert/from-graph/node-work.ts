/** What a node of a compiled graph does. Functions do not carry over: a person does by hand what only they say. */
import type { GraphNode } from '../../../graph/graph.ts';
import type { Notes } from '../outline/notes.ts';
import { chose, commandMs, engineDelays, type Step, type Work, shellWord, workByHand } from '../outline/outline.ts';

/** A node as a step, but for where its ends lead. */
export interface NodeWork {
  readonly step: Omit<Step, 'ends'>;
  /** Ends that say that it completed. */
  readonly completes: readonly string[];
  /** The end that says that it failed, where it can fail by itself. */
  readonly fails: string | undefined;
  readonly isByHand: boolean;
}

type Data = Readonly<Record<string, unknown>>;

/** What stands in a node's data for a function. */
const computed = '(computed)';

export function workOfNode(node: GraphNode, place: string, notes: Notes): NodeWork {
  const found =
    node.type === 'shell' ? commandOf(node) : node.type === 'human' ? questionOf(node, place, notes) : undefined;
  if (found === undefined)
    notes.lost(
      'CODE',
      place,
      `the code of ${node.id} (${node.type}) does not carry over; a person does its work by hand`,
      'write it as a command, a prompt or a question',
    );
  const isByHand = found === undefined;
  const work = found ?? workByHand(`${node.id} (${node.type})`, true);
  return {
    step: {
      id: node.id,
      title: undefined,
      place,
      work,
      retry:
        work.kind === 'command' && node.retry !== undefined && node.retry.attempts > 1
          ? retryOf(node, place, notes)
          : undefined,
      timeoutMs: work.kind === 'command' ? (node.timeoutMs ?? commandMs) : undefined,
      isIdempotent: node.idempotent,
      budget: node.budget === undefined ? {} : { budget: node.budget, onBudget: node.onBudget },
    },
    ...endsOf(work, isByHand),
    isByHand,
  };
}

function retryOf(node: GraphNode, place: string, notes: Notes): Step['retry'] {
  const { on, when, ...retry } = node.retry as NonNullable<GraphNode['retry']>;
  if (on !== undefined || when !== undefined)
    notes.lost(
      'CODE',
      place,
      `${node.id} is tried again after every failure, whatever its retry policy says of it`,
      'take the retry out',
    );
  return { ...engineDelays, ...retry };
}

function endsOf(work: Work, isByHand: boolean): Pick<NodeWork, 'completes' | 'fails'> {
  if (isByHand) return { completes: [chose('done')], fails: chose('failed') };
  if (work.kind === 'choice') return { completes: work.choices.map(chose), fails: undefined };
  return { completes: ['success'], fails: work.kind === 'command' ? 'fail' : undefined };
}

/** Undefined: a part of it is computed, or nothing that a command of a text can have. */
function commandOf({ config }: GraphNode): Work | undefined {
  const { command, args = [], env = {}, cwd, input, okExitCodes } = config as Data;
  const words = [command, args, Object.values(env as Data), cwd, input].flat(2);
  const isPlain = words.every((word) => word === undefined || ['string', 'number', 'boolean'].includes(typeof word));
  if (!isPlain || !Array.isArray(args) || okExitCodes !== undefined) return undefined;
  if (words.some((word) => word === computed || String(word).startsWith('secret:'))) return undefined;
  const shellArgs = args.map((word) => shellWord(String(word))).join(' ');
  const variables = Object.entries(env as Data).map(([name, value]) => `export ${name}=${shellWord(String(value))}\n`);
  const script =
    typeof command === 'string'
      ? `${shellArgs === '' ? '' : `set -- ${shellArgs}\n`}${command}`
      : [
          ...(command as readonly unknown[]).map((word) => shellWord(String(word))),
          ...(shellArgs === '' ? [] : [shellArgs]),
        ].join(' ');
  return {
    kind: 'command',
    script: variables.join('') + script,
    ...(cwd !== undefined && { folder: cwd as string }),
    ...(input !== undefined && { stdin: [input as string] }),
  };
}

function questionOf({ id, config }: GraphNode, place: string, notes: Notes): Work | undefined {
  const { prompt, choices, schema, autoAccept, autoReject, ...rest } = config as Data;
  if (autoAccept !== undefined || autoReject !== undefined) return undefined;
  const question = [prompt === computed ? `<the prompt of ${id}>` : String(prompt)];
  const lost = [
    ...(prompt === computed ? ['its prompt, which is computed'] : []),
    ...(schema === undefined ? [] : ['its schema']),
    ...Object.keys(rest),
  ];
  if (lost.length > 0)
    notes.lost('ANSWER', place, `the question of ${id} is asked without ${lost.join(', ')}`, 'say it in the question');
  if (choices === undefined) return { kind: 'text', question };
  const labels = Array.isArray(choices) ? choices.map(labelOf) : [undefined];
  if (!labels.every((label) => label !== undefined)) return undefined;
  return { kind: 'choice', question, choices: labels };
}

function labelOf(choice: unknown): string | undefined {
  const value: unknown = typeof choice === 'object' && choice !== null ? (choice as Data)['value'] : choice;
  return ['string', 'number', 'boolean'].includes(typeof value) && value !== computed ? String(value) : undefined;
}
