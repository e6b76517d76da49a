/** What an inline workflow reaches for while it runs, with the shipped blocks and real servers: grants hold there too, not only when the text is read. */
import { createServer } from 'node:http';
import { createServer as createTcpServer, type AddressInfo, type Server } from 'node:net';
import { afterAll, beforeEach, expect, test } from 'vitest';
import type { RunResult } from '../../src/engine/api.ts';
import type { Permissions } from '../../src/graph/permissions/permissions.ts';
import { readWorkflow, type ReadOptions } from '../../src/dialects/yaml/index.ts';
import { systemClock } from '../../src/app/process/system-clock.ts';
import { createNodeTypes } from '../../src/nodes/blocks/index.ts';
import { createBench, runToRest } from '../engine-kit.ts';

const servers: Server[] = [];
afterAll(() => {
  for (const server of servers) server.close();
});

/** Listens on a free port; gives the host with its port. */
async function listen(server: Server): Promise<string> {
  servers.push(server);
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Hosts that were called, in order. */
const called: string[] = [];
beforeEach(() => void (called.length = 0));

const there = await listen(
  createServer((_, response) => {
    called.push('there');
    response.setHeader('connection', 'close').end('arrived');
  }),
);
const here = await listen(
  createServer((_, response) => {
    called.push('here');
    response.writeHead(302, { location: `http://${there}/`, connection: 'close' }).end();
  }),
);
/** A server of Postgres that lets nobody in. */
const database = await listen(
  createTcpServer((socket) => {
    called.push('database');
    socket.once('data', () => {
      const fields = Buffer.from('SFATAL\0C28000\0Mnobody may\0\0');
      const head = Buffer.from([0x45, 0, 0, 0, fields.length + 4]);
      socket.end(Buffer.concat([head, fields]));
    });
  }),
);

async function run(text: string, permissions: Permissions, more: Partial<ReadOptions> = {}): Promise<RunResult> {
  const options: ReadOptions = { nodeTypes: createNodeTypes(), origin: 'inline', permissions, ...more };
  const values: Record<string, string> = { DB: `postgresql://u:p@${database}/d` };
  // A call takes real time here.
  const { engine } = createBench({
    clock: systemClock,
    secrets: { read: (name) => values[name] },
  });
  return runToRest(engine, readWorkflow(text, options).graph);
}

const call = `{ url: "http://${here}/", method: GET }`;
const calling: Readonly<Record<string, string>> = {
  'a block': `name: w\nblocks:\n  - { id: a, type: HttpCall, inputs: ${call} }\n`,
  'an item of a for_each': `name: w\nblocks:\n  - { id: a, type: HttpCall, for_each: "\${[1]}", inputs: ${call} }\n`,
};

test.each(Object.entries(calling))(
  'B10 %s of an inline workflow follows a redirect to a host that is granted',
  async (_, text) => {
    expect(await run(text, { net: [here, there] })).toMatchObject({ status: 'completed' });
    expect(called).toEqual(['here', 'there']);
  },
);

test.each(Object.entries(calling))(
  'B10 %s of an inline workflow does not follow a redirect to a host that is not granted',
  async (_, text) => {
    const { status, error } = await run(text, { net: [here] });
    expect([status, error?.message]).toEqual(['failed', expect.stringContaining('was redirected to another origin')]);
    expect(called).toEqual(['here']);
  },
);

test('Y6 a workflow of the operator that an inline one calls follows it: once it is granted by name, it is not held to the other grants', async () => {
  const calls = `name: w\nblocks:\n  - { id: a, type: ExecuteWorkflow, inputs: { workflow: own } }\n`;
  const own = calling['a block']!.replace('name: w', 'name: own');
  const workflows = {
    get: (name: string) => (name === 'own' ? { text: own, source: 'own.yaml' } : undefined),
    names: () => ['own'],
  };
  expect(await run(calls, { workflow: ['own'] }, { workflows })).toMatchObject({ status: 'completed' });
  expect(called).toEqual(['here', 'there']);
});

const querying = `name: w
secrets: [DB]
blocks:
  - { id: a, type: Sql, inputs: { engine: postgresql, connection: "\${secrets.DB}", sql: "select 1" } }
`;

test('B71 the host that a secret names must be granted: to another nothing is sent, and the secret is not told', async () => {
  const refused = await run(querying, { net: ['db.example.org:5432'], env: ['DB'] });
  expect([refused.status, refused.error?.message]).toEqual([
    'failed',
    expect.stringContaining('the host of the database is not granted'),
  ]);
  expect(JSON.stringify(refused)).not.toContain(database);
  expect(called).toEqual([]);
  const reached = await run(querying, { net: [database], env: ['DB'] });
  expect(reached.error?.message).toContain('nobody may');
  expect(called).toEqual(['database']);
});
