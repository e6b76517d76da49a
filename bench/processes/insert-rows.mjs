/** A bare loop that hashes and inserts as many bytes as the run wrote; prints the peak of memory in KiB. */
import { hash } from 'node:crypto';
import { readFileSync, rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';

const folder = process.argv[2];
const messages = JSON.parse(readFileSync(`${folder}/messages.json`, 'utf8'));
const sizes = JSON.parse(readFileSync(`${folder}/sizes.json`, 'utf8'));
for (const suffix of ['', '-wal', '-shm']) rmSync(`${folder}/floor.db${suffix}`, { force: true });
const db = new DatabaseSync(`${folder}/floor.db`);
db.exec(
  'pragma page_size = 16384; pragma journal_mode = wal; pragma synchronous = normal; pragma wal_autocheckpoint = 256',
);
db.exec('create table rows (seq integer primary key, at integer, checksum blob, body blob)');
const insert = db.prepare('insert into rows values (?, ?, ?, ?)');
const held = [];
for (const [seq, message] of messages.entries()) {
  held.push(message);
  const body = Buffer.from(JSON.stringify(message).padEnd(sizes[seq], ' '));
  insert.run(seq, Date.now(), hash('sha256', body, 'buffer'), body);
}
if (held.length !== messages.length) throw new Error('the list is short');
console.log(process.resourceUsage().maxRSS);
