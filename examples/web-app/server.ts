/** Starts the app, and a worker that takes up what a process left behind: `TOKEN=… node examples/web-app/server.ts [hono|express] [PORT]` */
import { createServer } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import { createWorker } from '../../src/index.ts';
import { support } from './agent.ts';

const [, , kind = 'hono', port = '3000'] = process.argv;
const listener =
  kind === 'express'
    ? (await import('./express.ts')).app
    : getRequestListener((await import('./hono.ts')).app.fetch, { overrideGlobalObjects: false });
const worker = createWorker({ graphs: [support] });
const server = createServer((request, response) => void listener(request, response)).listen(
  Number(port),
  '127.0.0.1',
  () => {
    const address = server.address();
    console.log(`http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`);
  },
);
process.once('SIGTERM', () => {
  server.close();
  server.closeAllConnections();
  void worker.stop().then(() => support.close());
});
