/**
 * Processes that die at a call to the file system: before it, or in the middle of a write, half of whose bytes are there then. In a power cut
 * what was not synced is gone as well.
 */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';

/** Where a process dies: at its n-th call that changes files, counted from 1 in each process. */
export interface FilePoint {
  readonly number: number;
  readonly when: 'before' | 'within';
}

/** What is gone of files that were written and not synced. */
export type Loss = 'nothing' | 'all' | 'every other file';

const patched = [
  'openSync',
  'writeSync',
  'fdatasyncSync',
  'fsyncSync',
  'ftruncateSync',
  'renameSync',
  'rmSync',
] as const;
type Patched = Pick<typeof fs, (typeof patched)[number]>;

const names: readonly string[] = patched;

/** Watches the calls below a folder, and lets one process after another die at one of them. */
export class FileKills {
  /** The points that the first process passed. */
  readonly points: FilePoint[] = [];
  isDead = false;
  readonly #real: Patched = { ...fs };
  readonly #folder: string;
  readonly #fatal: readonly FilePoint[];
  readonly #loss: Loss;
  readonly #kill: () => void;
  /** Open files by descriptor; folders too. */
  readonly #open = new Map<number, string>();
  /** How much of a file is on the disk. */
  readonly #syncedBytes = new Map<string, number>();
  /** Files whose names are not on the disk. */
  readonly #unnamed = new Set<string>();
  #calls = 0;
  #processes = 0;

  /** @param kill - told when the process dies. Call `restore` at the end. */
  constructor(folder: string, kill: () => void, fatal: readonly FilePoint[] = [], loss: Loss = 'nothing') {
    this.#folder = folder;
    this.#kill = kill;
    this.#fatal = fatal;
    this.#loss = loss;
    const { openSync, writeSync, fdatasyncSync, fsyncSync, ftruncateSync, renameSync, rmSync } = this.#real;
    const replaced: { [Name in keyof Patched]: (...args: never[]) => unknown } = {
      openSync: (path: string, flags: string | number, mode?: number) => {
        const isNew = this.#isWatched(path) && !fs.existsSync(path);
        if (isNew) this.#pass();
        const file = openSync(path, flags, mode);
        this.#open.delete(file);
        if (!this.#isWatched(path)) return file;
        this.#open.set(file, path);
        if (isNew) this.#unnamed.add(path);
        const found = fs.fstatSync(file);
        if (found.isFile() && !this.#syncedBytes.has(path)) this.#syncedBytes.set(path, isNew ? 0 : found.size);
        return file;
      },
      writeSync: (file: number, bytes: Uint8Array, offset = 0, length = bytes.length, position?: number) => {
        const half = Math.floor(length / 2);
        if (this.#open.has(file)) this.#pass(() => writeSync(file, bytes, offset, half, position));
        return writeSync(file, bytes, offset, length, position);
      },
      fdatasyncSync: (file: number) => this.#sync(file, fdatasyncSync),
      fsyncSync: (file: number) => this.#sync(file, fsyncSync),
      ftruncateSync: (file: number, length: number) => {
        if (this.#open.has(file)) this.#pass();
        ftruncateSync(file, length);
        this.#cutTo(this.#open.get(file) ?? '', length);
      },
      renameSync: (from: string, to: string) => {
        if (this.#isWatched(from)) this.#pass();
        renameSync(from, to);
        const synced = this.#syncedBytes.get(from);
        if (synced !== undefined) this.#syncedBytes.set(to, synced);
        this.#syncedBytes.delete(from);
        this.#unnamed.delete(from);
      },
      rmSync: (path: string, options?: fs.RmOptions) => {
        if (this.#isWatched(path) && fs.existsSync(path)) this.#pass();
        rmSync(path, options);
        this.#syncedBytes.delete(path);
        this.#unnamed.delete(path);
      },
    };
    Object.assign(fs, replaced);
    syncBuiltinESMExports();
  }

  /** Gives the file system back to the process. */
  restore(): void {
    Object.assign(fs, Object.fromEntries(Object.entries(this.#real).filter(([name]) => names.includes(name))));
    syncBuiltinESMExports();
  }

  /** The process dies between two calls. */
  die(): void {
    this.isDead = true;
    this.#kill();
  }

  /** The next process begins, on what the dead one left. */
  revive(): void {
    if (!this.isDead) return;
    this.isDead = false;
    this.#calls = 0;
    this.#processes += 1;
    this.#open.clear();
    [...this.#syncedBytes].forEach(([path, bytes], index) => {
      if (this.#loss === 'nothing' || (this.#loss === 'every other file' && index % 2 === 0)) return;
      if (!fs.existsSync(path)) return;
      if (this.#unnamed.has(path)) this.#real.rmSync(path);
      else if (fs.statSync(path).size > bytes) {
        const file = this.#real.openSync(path, 'r+');
        this.#real.ftruncateSync(file, bytes);
        fs.closeSync(file);
      }
    });
    this.#syncedBytes.clear();
    this.#unnamed.clear();
  }

  #isWatched(path: unknown): path is string {
    return typeof path === 'string' && path.startsWith(join(this.#folder, '/'));
  }

  #sync(file: number, sync: (file: number) => void): void {
    const path = this.#open.get(file);
    if (path !== undefined) this.#pass();
    sync(file);
    if (path === undefined) return;
    if (fs.statSync(path).isDirectory()) {
      for (const name of this.#unnamed) if (join(name, '..') === path) this.#unnamed.delete(name);
    } else this.#syncedBytes.set(path, fs.fstatSync(file).size);
  }

  #cutTo(path: string, length: number): void {
    const synced = this.#syncedBytes.get(path);
    if (synced !== undefined) this.#syncedBytes.set(path, Math.min(synced, length));
  }

  /** A call that changes files. @param half - does half of it. @throws Error the process is dead */
  #pass(half?: () => void): void {
    if (this.isDead) throw new Error('the process is dead');
    this.#calls += 1;
    const number = this.#calls;
    if (this.#processes === 0) {
      this.points.push({ number, when: 'before' });
      if (half !== undefined) this.points.push({ number, when: 'within' });
    }
    const fatal = this.#fatal[this.#processes];
    if (fatal?.number !== number) return;
    if (fatal.when === 'within') half?.();
    this.die();
    throw new Error('the process died');
  }
}
