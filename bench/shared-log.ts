/** The limit of writers that share a disk: each appends a record, and one fdatasync serves all that came while the last one ran. */
import { close, fdatasync, open, write } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

interface Waiting {
  readonly bytes: Uint8Array;
  readonly resolve: () => void;
}

class SharedLog {
  readonly #file: number;
  #waiting: Waiting[] = [];
  #isBusy = false;

  constructor(file: number) {
    this.#file = file;
  }

  append(bytes: Uint8Array): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push({ bytes, resolve });
      if (!this.#isBusy) queueMicrotask(() => this.#write());
    });
  }

  #write(): void {
    if (this.#isBusy || this.#waiting.length === 0) return;
    this.#isBusy = true;
    const batch = this.#waiting;
    this.#waiting = [];
    write(this.#file, Buffer.concat(batch.map(({ bytes }) => bytes)), (failure) => {
      if (failure !== null) throw failure;
      fdatasync(this.#file, (error) => {
        if (error !== null) throw error;
        this.#isBusy = false;
        for (const { resolve } of batch) resolve();
        this.#write();
      });
    });
  }
}

/** Milliseconds in which so many writers, each waiting for its own record, append all of them. */
export async function timeSharedLog(folder: string, records: readonly Uint8Array[], writers: number): Promise<number> {
  const file = await promisify(open)(join(folder, `log-${process.hrtime.bigint()}`), 'a', 0o600);
  const log = new SharedLog(file);
  const queue = records.values();
  const runWriter = async (): Promise<void> => {
    for (const record of queue) await log.append(record);
  };
  const startMs = performance.now();
  await Promise.all(Array.from({ length: writers }, runWriter));
  const took = performance.now() - startMs;
  await promisify(close)(file);
  return took;
}
