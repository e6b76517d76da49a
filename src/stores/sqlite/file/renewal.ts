/** Renews claims in a SQLite file from another thread, over a connection of its own (O2.9). */
import { pathToFileURL } from 'node:url';
import type { RenewalSource } from '../../../ports/store.ts';

/** A file that is gone is not made again. It waits shorter than a lease for other writers. */
const connect = `({ url }) => {
  const { DatabaseSync } = require('node:sqlite');
  const db = new DatabaseSync(new URL(url));
  db.exec('pragma busy_timeout = 1000; pragma synchronous = normal');
  const renewLease = db.prepare('update runs set lease_until = ?, lease_ms = ? where tenant = ? and run_id = ? and token = ?');
  return {
    renew(claims) {
      db.exec('begin immediate');
      try {
        const held = claims.map(
          ({ tenant, runId, token, leaseMs }) => renewLease.run(Date.now() + leaseMs, leaseMs, tenant, runId, token).changes === 1,
        );
        db.exec('commit');
        return held;
      } finally {
        if (db.isTransaction) db.exec('rollback');
      }
    },
    close: () => db.close(),
  };
}`;

export function sqliteRenewalSource(path: string): RenewalSource {
  return { connect, data: { url: `${pathToFileURL(path).href}?mode=rw` } };
}
