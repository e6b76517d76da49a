/** An order: paid, waited for, approved, and sent. Each effect leaves a line in a ledger outside of Cairn. */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import type { Engine } from '../../src/engine/api.ts';
import { AgentGraph, END, START } from '../../src/index.ts';
import type { HostedGraph } from '../../src/hosts/index.ts';

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** The lines of a ledger: an effect's run and name. */
export const readLedger = (ledger: string): readonly string[] =>
  existsSync(ledger) ? readFileSync(ledger, 'utf8').split('\n').slice(0, -1) : [];

/**
 * @param ledger - a file that the effects write to, at a moment between their beginning and their end. @param timeoutMs - their deadline.
 * @param effectMs - how long they take
 */
export function orderOf(ledger: string, engine: Engine, timeoutMs = 10_000, effectMs = 30): HostedGraph {
  const act =
    (name: string) =>
    async ({ runId }: { readonly runId: string }): Promise<string> => {
      await pause(effectMs / 2);
      appendFileSync(ledger, `${runId} ${name}\n`);
      await pause(effectMs / 2);
      return name;
    };
  return new AgentGraph({}, { id: 'order' })
    .addNode('charge', act('charge'), { effectClass: 'external', timeoutMs })
    .addNode('rest', (ctx) => ctx.sleepUntil(ctx.now() + 200))
    .addNode('ask', (ctx) => ctx.ask({ prompt: 'Send it?' }), { effectClass: 'human' })
    .addNode('send', act('send'), { effectClass: 'external', timeoutMs })
    .addEdge(START, 'charge')
    .addEdge('charge', 'rest')
    .addEdge('rest', 'ask')
    .addEdge('ask', 'send')
    .addEdge('send', END)
    .compile({ engine });
}
