/** Renews claims in Postgres from another thread, over a connection of its own (O2.9). */
import type { RenewalSource } from '../../ports/store.ts';
import type { PlainPassword } from '../server-url.ts';
import { renewText } from './claims.ts';
import { inSchema } from './layout.ts';
import { plainSettings, type PostgresPlace } from './place.ts';

/** As the store does: the certificate is checked against the host's name, and a password goes in clear over TLS alone. */
const connect = String.raw`async ({ settings, ssl, password, statement }, { Client }) => {
  const { checkServerIdentity } = require('node:tls');
  const { readFileSync } = require('node:fs');
  class GuardedClient extends Client {
    _handleAuthCleartextPassword(message) {
      if (this.ssl) return super._handleAuthCleartextPassword(message);
      this.connection.stream.destroy(Error('the server asks for the password in clear, without TLS'));
    }
  }
  const isHost = (_, certificate) => checkServerIdentity(settings.host, certificate);
  const client = new GuardedClient({
    ...settings,
    password: () =>
      password.text ?? (password.file === undefined ? '' : readFileSync(password.file, 'utf8').replace(/\r?\n$/, '')),
    ssl: ssl && { ...ssl, checkServerIdentity: isHost },
  });
  client.on('error', () => {});
  await client.connect();
  const toText = (text) => text.replaceAll('\x01', '\x01\x02').replaceAll('\0', '\x01\x01');
  return {
    async renew(claims) {
      const { rows } = await client.query(statement, [
        claims.map(({ tenant }) => toText(tenant)),
        claims.map(({ runId }) => toText(runId)),
        claims.map(({ token }) => token),
        claims.map(({ leaseMs }) => leaseMs),
      ]);
      return rows.map(({ message_count: count }) => count !== null);
    },
    close: () => client.end(),
  };
}`;

export function postgresRenewalSource(place: PostgresPlace, password: PlainPassword): RenewalSource {
  const data = { ...plainSettings(place), password, statement: inSchema(renewText, place.schema) };
  return { peer: 'pg', connect, data };
}
