/** A worker with one of two versions of a workflow: `node deployed-worker.ts URL VERSION`. It says which runs it has completed. */
import { AgentGraph, createWorker, END, openStore, START } from '../../src/index.ts';

/** Until then nobody can know that a worker which was too busy to say so is not in the middle of an effect. */
const timeoutMs = 5_000;

/** Version 2 has one node more, so runs that began under version 1 are for those who have that. */
export function releaseOf(version: string): AgentGraph {
  const graph: AgentGraph = new AgentGraph({}, { id: 'deployed' });
  graph
    .addNode('first', () => 1, { effectClass: 'write', timeoutMs })
    .addNode('pause', async (ctx) => {
      await ctx.sleepUntil(ctx.now() + 300);
      return 2;
    })
    .addNode('last', () => version, { effectClass: 'write', timeoutMs })
    .addEdge(START, 'first')
    .addEdge('first', 'pause');
  if (version === '1') return graph.addEdge('pause', 'last').addEdge('last', END);
  return graph
    .addNode('checked', () => 'checked')
    .addEdge('pause', 'checked')
    .addEdge('checked', 'last')
    .addEdge('last', END);
}

if (import.meta.main) {
  const [url = '', version = ''] = process.argv.slice(2);
  const say = (line: string): void => void process.stdout.write(`${line}\n`);
  const store = openStore(url);
  const graph = releaseOf(version).compile({ store, wakes: false });
  const worker = createWorker({
    graphs: [graph],
    pollMs: 200,
    onTaken: (runId) => say(`taken ${runId}`),
    onRested: ({ runId, status }) => say(`${status} ${runId}`),
    onError: (runId, error) => say(`error ${runId} ${String(error)}`),
  });
  say('ready');
  process.once('SIGTERM', () => {
    const stop = async (): Promise<void> => {
      await worker.stop();
      await graph.close();
      await store.close();
    };
    void stop();
  });
}
