/**
 * A process of the proof: an order that is begun and killed in its second tool, or resumed, by AgentOS over a SQLite store of ours.
 *
 * `node order.ts begin|resume FOLDER RUN`: it writes the id of its run and what its tools did into files of the folder.
 */
import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AgentGraph, END, START, toolNode, type Checkpoint } from '@framers/agentos/orchestration';
import { checkpointStoreOver } from '../../src/app/checkpoint-store/index.ts';
import { openSqliteStore } from '../../src/stores/sqlite/index.ts';

const [, , act = '', folder = '', runId = ''] = process.argv;

const store = openSqliteStore({ path: join(folder, 'runs.db') });
const checkpointStore = checkpointStoreOver<Checkpoint>(store);

const toolOrchestrator = {
  async processToolCall({ toolCallRequest: { toolName } }: { toolCallRequest: { toolName: string } }) {
    if (toolName === 'ship' && act === 'begin') {
      process.kill(process.pid, 'SIGKILL');
      await new Promise(() => undefined);
    }
    appendFileSync(join(folder, 'done'), `${toolName}\n`);
    return { success: true, output: `${toolName} done` };
  },
};

const graph = new AgentGraph({ input: {}, scratch: {}, artifacts: {} }, { checkpointPolicy: 'every_node' })
  .addNode('pay', toolNode('pay', {}, { effectClass: 'external' }))
  .addNode('ship', toolNode('ship', {}, { effectClass: 'external' }))
  .addNode('tell', toolNode('tell', {}, { effectClass: 'write' }))
  .addEdge(START, 'pay')
  .addEdge('pay', 'ship')
  .addEdge('ship', 'tell')
  .addEdge('tell', END)
  .compile({ checkpointStore, deps: { toolOrchestrator } });

if (act === 'begin') {
  for await (const event of graph.stream({ amount: 40 }))
    if (event.type === 'run_start') writeFileSync(join(folder, 'run'), event.runId);
} else {
  writeFileSync(join(folder, 'result'), JSON.stringify(await graph.resume(runId)));
}
await store.close();
