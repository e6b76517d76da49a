/** Runs for the tests of backups: values that lie beside the store, a question, and an end that depends on nothing else. */
import { AgentGraph, END, humanNode, START } from '../../src/index.ts';
import type { Store } from '../../src/store.ts';
import { z } from 'zod';

/** Larger than what a row holds, and another for each run and node. */
export function largeText(seed: string): string {
  return `${seed} `.repeat(Math.ceil(300_000 / (seed.length + 1)));
}

export function refunds(store: Store) {
  return new AgentGraph({ input: z.object({ name: z.string() }) }, { id: 'refunds' })
    .addNode('draft', ({ state }) => largeText(`${state.input.name} draft`))
    .addNode('approve', humanNode({ prompt: 'Pay?', choices: ['yes', 'no'] }))
    .addNode('letter', ({ state }) => largeText(`${state.input.name} ${state.outputs.approve}`))
    .addNode('end', ({ state }) => `${state.outputs.draft?.length} ${state.outputs.letter?.length}`)
    .addEdge(START, 'draft')
    .addEdge('draft', 'approve')
    .addEdge('approve', 'letter')
    .addEdge('letter', 'end')
    .addEdge('end', END)
    .compile({ store });
}
