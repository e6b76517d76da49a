/** Runs 500 steps up to a question, at which the run pauses, and puts its state as one row into a bare database. */
import { rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { openLoop, runId } from './paused-loop.mjs';

const folder = process.argv[2];
for (const name of ['ours', 'state']) {
  for (const suffix of ['', '-wal', '-shm']) rmSync(`${folder}/${name}.db${suffix}`, { force: true });
}
const { graph, store } = openLoop(folder);
const { status, state } = await graph.invoke({}, { runId });
if (status !== 'paused') throw new Error(`the run is ${status}`);
await graph.close();
await store.close();
const db = new DatabaseSync(`${folder}/state.db`);
db.exec('pragma page_size = 16384; pragma journal_mode = wal; create table state (id integer, json text)');
db.prepare('insert into state values (1, ?)').run(JSON.stringify(state));
db.close();
