/** Blocks that ask a person. */
import type { BlockFile } from '../../yaml/file/workflow-file.ts';
import { chose } from '../outline/outline.ts';
import { completed, literalOf, lost, questionIn, type BlockReading, type Done } from './block-reading.ts';

/** `AskChoice`. */
export function readChoice(block: BlockFile, reading: BlockReading): Done | undefined {
  const { choices } = block.inputs;
  const question = questionIn(block, 'question', reading);
  if (!Array.isArray(choices)) return undefined;
  const labels = choices.map((choice) => literalOf(String(choice), reading));
  if (!labels.every((label) => label !== undefined)) return undefined;
  return {
    work: { kind: 'choice', question, choices: labels },
    ends: labels.map((choice, index) => ({
      on: chose(choice),
      views: [completed({ choice, choice_index: index })],
      isFatal: false,
    })),
    fields: ['choice', 'choice_index'],
  };
}

/** `ConfirmOperation`. */
export function readConfirmation(block: BlockFile, reading: BlockReading): Done {
  const question = questionIn(block, 'message', reading);
  const { details } = block.inputs;
  if (details !== undefined && Object.keys(details as object).length > 0)
    lost(reading, 'ANSWER', `the details of ${block.id} are not shown with its question`, 'say them in the message');
  const ends = [true, false].map((confirmed) => ({
    on: confirmed ? 'yes' : 'no',
    views: [completed({ confirmed })],
    isFatal: false,
  }));
  return { work: { kind: 'confirm', question }, ends, fields: ['confirmed'] };
}

/** `GetInput` and `Prompt`. */
export function readText(block: BlockFile, reading: BlockReading): Done {
  const question = questionIn(block, 'prompt', reading);
  if (block.inputs['validation_pattern'] !== undefined)
    lost(
      reading,
      'ANSWER',
      `${block.id} takes any text: validation_pattern is not held against it`,
      'check the answer in a command',
    );
  return {
    work: { kind: 'text', question },
    ends: [{ on: 'success', views: [completed({})], isFatal: false }],
    fields: [],
  };
}
