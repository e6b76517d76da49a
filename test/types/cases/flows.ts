/** Names, outputs and outcomes of a flow follow its keys. */
import { z } from 'zod';
import { flow, type NodeContext, type NodeDraft } from '../../../src/index.ts';

async function fetchAll(): Promise<{ readonly rows: readonly number[] }> {
  return { rows: [1] };
}
const check = (ctx: NodeContext): { readonly ok: boolean } => ({ ok: ctx.visit === 1 });
declare const draft: NodeDraft<never, number>;

const report = flow(
  'report',
  {
    fetch: { run: fetchAll, retry: { attempts: 3 } },
    check: { run: check, needs: ['fetch'], onFailure: 'return' },
    count: { run: draft, needs: ['check'] },
    write: {
      run: ({ visit }: NodeContext) => `text ${visit}`,
      needs: ['fetch', { node: 'check', when: ({ outcome }) => outcome.status === 'completed' && outcome.output.ok }],
    },
    tell: {
      run: () => 1,
      // An output is known only where the status says that there is one.
      // @ts-expect-error it may have failed
      needs: [{ node: 'check', when: ({ outcome }) => outcome.output.ok }],
    },
  },
  { input: z.object({ topic: z.string() }) },
);

export async function results(): Promise<readonly unknown[]> {
  const compiled = report.compile();
  // @ts-expect-error the input has a topic
  await compiled.invoke({});
  const { nodes, state } = await compiled.invoke({ topic: 'tides' });
  if (nodes.fetch.status !== 'completed') return [];
  const rows: readonly number[] = nodes.fetch.output.rows;
  const text: string | undefined = nodes.write.output;
  const count: number | undefined = nodes.count.output;
  const topic: string = state.input.topic;
  // @ts-expect-error a number
  const wrong: string | undefined = nodes.count.output;
  // @ts-expect-error no such node
  void nodes.other;
  return [rows, text, count, topic, wrong, nodes.check.error?.message];
}

flow('names', {
  a: { run: () => 1 },
  // @ts-expect-error no node of this name
  b: { run: () => 1, needs: ['c'] },
  // @ts-expect-error no such setting
  d: { run: () => 1, retri: 2 },
  // @ts-expect-error joins follow from needs
  e: { run: () => 1, join: 'some' },
});
