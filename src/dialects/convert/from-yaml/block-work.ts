/** What a block of a workflow file does, and how it may end. */
import type { BlockFile } from '../../yaml/file/workflow-file.ts';
import { chose, engineDelays, type Step } from '../outline/outline.ts';
import { workByHand } from '../outline/stand-in.ts';
import {
  completed,
  failed,
  lost,
  type BlockReader,
  type BlockReading,
  type BlockWork,
  type Done,
} from './block-reading.ts';
import { readAgent } from './agent-block.ts';
import { readChild } from './child-block.ts';
import { readCommand } from './command-block.ts';
import { readModel } from './model-block.ts';
import { readChoice, readConfirmation, readText } from './question-blocks.ts';

const readers: Readonly<Record<string, BlockReader | undefined>> = {
  Shell: readCommand,
  LLMCall: readModel,
  Agent: readAgent,
  Workflow: readChild,
  ExecuteWorkflow: readChild,
  AskChoice: readChoice,
  ConfirmOperation: readConfirmation,
  GetInput: readText,
  Prompt: readText,
};

/** A block as a step. One that cannot be said without its dialect is done by hand. */
export function workOfBlock(block: BlockFile, reading: BlockReading): BlockWork {
  const found = block.forEach === undefined ? readers[block.type]?.(block, reading) : undefined;
  if (found === undefined) noteByHand(block, reading);
  const { work, ends, fields, timeoutMs, attempts = 1, isTriedOnce = false } = found ?? byHandOf(block);
  noteSettings(block, reading);
  const isRetried = (work.kind === 'command' || work.kind === 'model') && !isTriedOnce;
  return {
    step: {
      id: block.id,
      title: block.description,
      place: reading.place,
      work,
      retry: isRetried ? retryOf(block, attempts) : undefined,
      timeoutMs: work.kind === 'child' ? undefined : (block.timeoutMs ?? timeoutMs),
      isIdempotent: work.kind === 'model' || (work.kind === 'command' && isIdempotent(block)),
      budget: block.budget,
    },
    ends,
    fields,
  };
}

/** The delays between calls of a model where the file says nothing of attempts: those of a pipeline. */
const callDelays = { ...engineDelays, delayMs: 200, jitter: 0.5 };

/** Attempts of the block, each with as many calls as its inputs ask for. Undefined: it is tried once. */
function retryOf({ retry }: BlockFile, calls: number): Step['retry'] {
  const { on: _on, ...given } = retry ?? { attempts: 1 };
  const attempts = given.attempts * calls;
  if (attempts === 1) return undefined;
  return { ...(calls > 1 && retry === undefined ? callDelays : engineDelays), ...given, attempts };
}

function isIdempotent({ idempotent, onInDoubt, effect }: BlockFile): boolean {
  return idempotent ?? (onInDoubt === 'retry' || effect === 'read' || effect === 'pure');
}

function noteSettings({ id, fileOutputs, atMost, onInDoubt, retry }: BlockFile, reading: BlockReading): void {
  for (const [field, isGiven] of [
    ['outputs', fileOutputs.length > 0],
    ['at_most', atMost !== undefined],
    ['on_in_doubt', onInDoubt === 'fail'],
    ['retry.on', retry?.on !== undefined],
  ] as const)
    if (isGiven) lost(reading, 'SETTING', `${field} of ${id} has no counterpart`, 'take it out, or do without');
}

function noteByHand({ id, type, forEach }: BlockFile, reading: BlockReading): void {
  const what = forEach === undefined ? `what ${type} does` : 'work for each item of a list';
  lost(
    reading,
    'WORK',
    `${id} is ${what}, which does not carry over as it stands; a person does it by hand`,
    readers[type] === readChild && forEach === undefined
      ? 'let it run a pipeline in DOT that is given inputs of this workflow, under their names'
      : 'write it as a command, a prompt or a question',
  );
}

function byHandOf({ id, type, description, continuesOnError, forEach }: BlockFile): Done {
  const what = forEach === undefined ? type : `${type} for each item`;
  return {
    work: workByHand(`${id} (${what})${description === undefined ? '' : `: ${description}`}`, continuesOnError),
    ends: [
      { on: chose('done'), views: [completed({})], isFatal: false },
      ...(continuesOnError ? [{ on: chose('failed'), views: [failed], isFatal: false }] : []),
    ],
    fields: [],
  };
}
