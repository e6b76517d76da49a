/** A worker of the fleet, as its own process: advances orders of the store in CAIRN_STORE until it is stopped. */
import { createWorker, openStore, type OpenedStore } from '../../src/index.ts';
import { storeMethods } from '../../src/testing/faulty-store.ts';
import { compileFleet } from './graph.ts';

/** `before 7`: the process kills itself before its seventh call of the store; `after 7`: when that is answered, and before it hears so. */
const [when, number] = (process.env['CAIRN_FLEET_DIES'] ?? '').split(' ');

function mortal(store: OpenedStore): OpenedStore {
  const names: ReadonlySet<unknown> = new Set(storeMethods);
  let calls = 0;
  const die = (): Promise<never> => {
    process.kill(process.pid, 'SIGKILL');
    return new Promise(() => {});
  };
  return new Proxy(store, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      if (!names.has(name)) return value.bind(target) as unknown;
      return async (...args: readonly unknown[]): Promise<unknown> => {
        calls += 1;
        const isLast = calls === Number(number);
        if (isLast && when === 'before') return die();
        const reply: unknown = await Reflect.apply(value, target, args);
        return isLast ? die() : reply;
      };
    },
  });
}

const store = openStore(process.env['CAIRN_STORE'] ?? 'memory:');
const { order, graphs } = compileFleet(number === undefined ? store : mortal(store));

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const worker = createWorker({
  graphs,
  concurrency: 8,
  pollMs: 200,
  onTaken: (runId) => say(`taken ${runId}`),
  onRested: ({ runId, status }) => say(`${status} ${runId}`),
  onError: (runId, error) => say(`error ${runId} ${String(error)}`),
});
say('ready');

process.once('SIGTERM', () => {
  const stop = async (): Promise<void> => {
    await worker.stop();
    await order.close();
    await store.close();
  };
  void stop();
});
