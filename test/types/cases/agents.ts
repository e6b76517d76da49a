/** What agents and nodes that ask models give is known from their schemas, and so are arguments of tools. Type-checked, never run. */
import { expectTypeOf } from 'vitest';
import { z } from 'zod';
import {
  agent,
  judgeNode,
  llmNode,
  localFiles,
  memoryTools,
  shellTool,
  sessionMemory,
  tool,
} from '../../../src/agents/index.ts';
import { AgentGraph, END, START, workflow } from '../../../src/index.ts';
import { createMemoryMemories } from '../../../src/stores/memory/index.ts';

const input = z.object({ topic: z.string() });
const add = tool({
  description: 'Adds.',
  input: z.object({ a: z.number() }),
  run: ({ a }) => {
    expectTypeOf(a).toEqualTypeOf<number>();
    return a;
  },
});

new AgentGraph({ input })
  .addNode('text', llmNode({ model: 'm', prompt: ({ state }) => state.input.topic }))
  .addNode('value', llmNode({ model: 'm', prompt: '?', output: z.object({ age: z.number() }) }))
  .addNode('json', llmNode({ model: 'm', prompt: '?', output: { type: 'object' } }))
  .addNode('agent', agent({ model: 'm', prompt: '?', tools: { add }, output: z.object({ ok: z.boolean() }) }))
  .addNode('judge', judgeNode({ model: 'm', rubric: '?', prompt: ({ state }) => state.outputs.text ?? '' }))
  .addNode(
    'graded',
    judgeNode({
      model: 'm',
      rubric: ({ state }) => state.input.topic,
      schema: z.object({ faults: z.array(z.string()) }),
      score: ({ verdict }) => {
        expectTypeOf(verdict.faults).toEqualTypeOf<string[]>();
        return verdict.faults.length === 0;
      },
    }),
  )
  .addNode('end', ({ state: { outputs } }) => {
    expectTypeOf(outputs.text).toEqualTypeOf<string | undefined>();
    expectTypeOf(outputs.value).toEqualTypeOf<{ age: number } | undefined>();
    expectTypeOf(outputs.json).toEqualTypeOf<unknown>();
    expectTypeOf(outputs.agent).toEqualTypeOf<{ ok: boolean } | undefined>();
    expectTypeOf(outputs.judge?.passed).toEqualTypeOf<boolean | undefined>();
    expectTypeOf(outputs.judge?.verdict.reason).toEqualTypeOf<string | undefined>();
    expectTypeOf(outputs.graded?.verdict.faults).toEqualTypeOf<string[] | undefined>();
  })
  .addEdge(START, 'text')
  .addEdge('text', END);

const memory = sessionMemory(createMemoryMemories());
new AgentGraph({ input })
  .addNode(
    'works',
    agent({
      model: 'm',
      files: localFiles({ root: ({ state }) => state.input.topic }),
      tools: {
        add,
        shell: shellTool({ cwd: ({ state }) => state.input.topic }),
        plain: shellTool(),
        ...memoryTools(memory, { owner: () => ({ user: 'ada', session: 's' }) }),
      },
    }),
  )
  .addNode(
    'remembers',
    agent({
      model: 'm',
      tools: memoryTools(memory, { owner: ({ state }) => ({ user: state.input.topic, session: 's' }) }),
    }),
  )
  .addNode('plain', agent({ model: 'm', files: localFiles({ root: '.' }) }))
  // @ts-expect-error the input has no such field
  .addNode('wrong', agent({ model: 'm', files: localFiles({ root: ({ state }) => state.input.topics }) }));

// @ts-expect-error a verdict has the fields of its schema
judgeNode({ model: 'm', rubric: '?', schema: z.object({ a: z.number() }), score: ({ verdict }) => verdict.b });
// @ts-expect-error llmNode has no tools
llmNode({ model: 'm', prompt: '?', tools: { add } });
// @ts-expect-error a prompt of the state knows the input
new AgentGraph({ input }).addNode('a', llmNode({ model: 'm', prompt: ({ state }) => state.input.topics }));

export const flow = workflow('flow')
  .input(input)
  .step('draft', llmNode({ model: 'm', prompt: ({ state }) => state.input.topic }))
  .step('judge', judgeNode({ model: 'm', rubric: '?', prompt: ({ state }) => state.artifacts.draft ?? '' }))
  .branch(({ state }) => (state.artifacts.judge?.passed === true ? 'keep' : 'drop'), {
    keep: () => 'kept',
    drop: () => 'dropped',
  })
  .compile();
