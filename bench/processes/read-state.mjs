/** What a process takes that only opens SQLite and reads a state. */
import { DatabaseSync } from 'node:sqlite';

const db = new DatabaseSync(`${process.argv[2]}/state.db`);
const { json } = db.prepare('select json from state where id = 1').get();
process.exit(JSON.parse(json).scratch.count === 500 ? 0 : 1);
