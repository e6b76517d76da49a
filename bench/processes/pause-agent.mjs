/** Runs an agent up to its question, prints the question's id, and puts the conversation as one row into a bare database. */
import { rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { readAgentState } from '../../dist/plans/index.js';
import { openAgent, runId } from './paused-agent.mjs';

const folder = process.argv[2];
for (const name of ['ours', 'state']) {
  for (const suffix of ['', '-wal', '-shm']) rmSync(`${folder}/${name}.db${suffix}`, { force: true });
}
const { graph, store } = openAgent(folder);
const { status, waits } = await graph.invoke({}, { runId });
if (status !== 'paused') throw new Error(`the run is ${status}`);
console.log(waits[0].waitId);
const { messages } = await readAgentState(graph.history, runId, 'agent');
await graph.close();
await store.close();
const db = new DatabaseSync(`${folder}/state.db`);
db.exec('pragma page_size = 16384; pragma journal_mode = wal; create table state (id integer, json text)');
db.prepare('insert into state values (1, ?)').run(JSON.stringify(messages));
db.close();
