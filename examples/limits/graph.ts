/**
 * A report: two calls of a provider for one user. A user has two reports at once, and the provider takes eight calls at once and a hundred a
 * second, from all workers together. Each call tells an oracle outside when it begins and when it ends.
 */
import { createConnection, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { workflow } from '../../src/index.ts';
import { defineLimit } from '../../src/limits.ts';
import type { Store } from '../../src/store.ts';

export const placesPerUser = 2;
export const placesAtProvider = 8;
export const callsPerSecond = 100;
export const burst = 10;

const perUser = defineLimit('report-user', { concurrency: placesPerUser, per: ({ input }) => input['user'] });
const provider = defineLimit('provider', {
  concurrency: placesAtProvider,
  requestsPerMinute: callsPerSecond * 60,
  burst,
});

/** How long a call takes: eight at once are fewer than a hundred a second, so that both limits are met. */
const callMs = 100;

/** Where calls are told, as lines: `worker PID`, `begin ID USER RUN` and `end ID`. Each is answered, so that nothing goes on before it is counted. */
export class Oracle {
  readonly #socket: Socket;
  readonly #waiting: (() => void)[] = [];

  constructor(port: number) {
    this.#socket = createConnection({ port, host: '127.0.0.1' });
    this.#socket.on('data', (chunk) => {
      for (let lines = chunk.toString().split('\n').length - 1; lines > 0; lines -= 1) this.#waiting.shift()?.();
    });
    // The one who counts may be gone first.
    this.#socket.on('error', () => undefined);
    void this.tell(`worker ${process.pid}`);
    this.#socket.unref();
  }

  tell(line: string): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#socket.write(`${line}\n`);
    });
  }
}

export function compileReports(store: Store, oracle: Oracle | undefined, leaseMs = 3_000) {
  const input = z.object({ user: z.string() });
  return workflow('report', { limit: perUser })
    .input(input)
    .step('write', async (ctx) => {
      const { user } = ctx.input;
      const call = async (key: string, attempt: number): Promise<string> => {
        const id = `${key}.${attempt}`;
        await oracle?.tell(`begin ${id} ${user} ${ctx.runId}`);
        await delay(callMs);
        await oracle?.tell(`end ${id}`);
        return user;
      };
      for (const part of ['outline', 'text'])
        await ctx.step(part, { effect: 'external', idempotent: true, limit: provider }, ({ idempotencyKey, attempt }) =>
          call(idempotencyKey, attempt),
        );
      return user;
    })
    .returns(({ state }) => state.artifacts.write)
    .compile({ store, leaseMs });
}
