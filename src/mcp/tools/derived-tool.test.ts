/** A tool that is made of an operation: what it takes and tells follows from the declaration (M6). */
import { expect, test } from 'vitest';
import type { AnyOperation } from '../../operations/contract/operation.ts';
import {
  anything,
  keyed,
  listOf,
  objectOf,
  position,
  recordedError,
  text,
  time,
} from '../../operations/contract/output-shapes.ts';
import { schemaFaults } from '../../schema/json-schema.ts';
import * as operations from '../../operations/table.ts';
import { toolOf } from './derived-tool.ts';
import type { ToolAnswer, ToolCall } from './tool.ts';

const operation: AnyOperation = {
  name: 'look_at',
  summary: 'look at a run',
  details: 'Nothing is done.',
  input: {
    run: { type: 'run', description: 'the run', isRequired: true },
    newName: { type: 'text', description: 'another name' },
    limit: { type: 'integer', description: 'how many', default: 20, min: 1, max: 50, modelDefault: 5 },
    file: { type: 'text', description: 'a file of this machine', isLocal: true },
    by: { type: 'text', description: 'who', isActor: true },
    svg: { type: 'flag', description: 'a picture', isForEyes: true },
  },
  output: 'what is seen',
  outputSchema: objectOf(
    {
      runId: text,
      createdAt: time,
      parent: position,
      entries: listOf(objectOf({ path: text, value: anything }, { endedAt: time })),
      failures: { type: 'object', additionalProperties: objectOf({ runId: text }) },
      scratch: keyed,
    },
    { error: recordedError },
  ),
  isReadOnly: true,
  scope: 'read',
  tool: {},
  next: () => [{ operation: 'resume_run', input: { run: 'r' }, why: 'go on' }],
  run: (_context, input) =>
    Promise.resolve({
      runId: 'r',
      createdAt: 1_500,
      parent: { runId: 'p', seq: 3 },
      entries: [{ path: 'a', value: { runId: 'of the run', createdAt: 7, given: input } }],
      failures: { aNode: { runId: 'f' } },
      scratch: { camelCase: { runId: 1 } },
      error: Object.assign(new Error('no'), { code: 'X' }),
    }),
};
const tool = toolOf(operation, { resume_run: { name: 'resume_workflow', run: 'checkpoint_id' } });

test('M6 a tool offers what callers elsewhere may give, under names of tools, with bounds and the defaults of models', () => {
  expect(tool).toMatchObject({
    name: 'look_at',
    title: 'Look at',
    description: 'Look at a run. Nothing is done.',
    required: ['run_id'],
    hints: { isReadOnly: true, isDestructive: false, isIdempotent: true },
  });
  expect(Object.keys(tool.input)).toEqual(['run_id', 'new_name', 'limit']);
  expect(tool.input['limit']).toEqual({
    type: 'integer',
    minimum: 1,
    maximum: 50,
    default: 5,
    description: 'How many.',
  });
});

test('M6 what is declared is told in snake case, times in seconds and as ISO text, positions by name; what is of the run stays as it is', async () => {
  const { content } = (await tool.run({ context: {} } as ToolCall, { run_id: 'r', new_name: 'x' })) as ToolAnswer;
  expect(content).toEqual({
    run_id: 'r',
    created_at: 1.5,
    created_at_iso: '1970-01-01T00:00:01.500Z',
    parent: 'p@3',
    entries: [{ path: 'a', value: { runId: 'of the run', createdAt: 7, given: { limit: 5, run: 'r', newName: 'x' } } }],
    failures: { aNode: { run_id: 'f' } },
    scratch: { camelCase: { runId: 1 } },
    error: { name: 'Error', message: 'no', code: 'X' },
    next: ['resume_workflow {"checkpoint_id":"r"}: go on'],
  });
  expect(schemaFaults(tool.output, content, 'output')).toEqual([]);
});

test('M6 no two fields of an operation become one argument, and no tool takes what is of this machine', () => {
  for (const one of Object.values<AnyOperation>(operations)) {
    const offered = Object.entries(one.input).filter(
      ([, { isLocal, isActor, isForEyes }]) => isLocal !== true && isActor !== true && isForEyes !== true,
    );
    expect([one.name, Object.keys(toolOf(one).input).length]).toEqual([one.name, offered.length]);
  }
});
