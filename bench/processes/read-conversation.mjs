/** What a process takes that only opens SQLite and reads the conversation of that agent. */
import { DatabaseSync } from 'node:sqlite';

const db = new DatabaseSync(`${process.argv[2]}/state.db`);
const { json } = db.prepare('select json from state where id = 1').get();
process.exit(JSON.parse(json).length > 400 ? 0 : 1);
