/** Renews claims in Redis from another thread, over a connection of its own (O2.9). */
import type { RenewalSource } from '../../ports/store.ts';
import type { PlainPassword } from '../server-url.ts';
import { connectionOptions, functionOf, type RedisPlace } from './server.ts';

const connect = String.raw`async ({ options, password, name, prefix }, { createClient }) => {
  const { readFileSync } = require('node:fs');
  const secret = password.text ?? (password.file === undefined ? '' : readFileSync(password.file, 'utf8').replace(/\r?\n$/, ''));
  const client = createClient({ ...options, ...(secret !== '' && { password: secret }) });
  client.on('error', () => {});
  await client.connect();
  return {
    async renew(claims) {
      const query = { claims: claims.map(({ tenant, runId, token, leaseMs }) => [tenant, runId, token, leaseMs]) };
      const [word, replies] = await client.sendCommand(['FCALL', name, '0', 'renew', prefix, JSON.stringify(query)]);
      return word === 'ok' ? replies.map(([isHeld]) => isHeld === 1) : [];
    },
    close: () => client.close(),
  };
}`;

export function redisRenewalSource(place: RedisPlace, password: PlainPassword): RenewalSource {
  const data = { options: connectionOptions(place), password, name: functionOf('renew'), prefix: place.prefix };
  return { peer: 'redis', connect, data };
}
