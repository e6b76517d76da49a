/**
 * The file in which a command reports how its stage ended. The file is checked, and an old one is told apart: a file in the command's own
 * folder may have been written by an earlier run.
 */
import { constants } from 'node:fs';
import { lstat, mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { readReport, type StageOutcome } from '../stage/stage-outcome.ts';

/** The report of a command, or why it is not valid. Undefined means that there is none. */
export type Reported = StageOutcome | { readonly fault: string } | undefined;

/** The files of one attempt. They are kept apart from the folders in which stages work. */
export interface StatusFile {
  readonly path: string;
  /** Path of a file with the prompt. Undefined if there is no prompt. */
  readonly promptPath: string | undefined;
  read(): Promise<Reported>;
  /** Removes the files that we made. */
  close(): Promise<void>;
}

const bytesMax = 1024 * 1024;

/**
 * Opens the status file of one attempt, in a new folder or at the path that the pipeline names.
 * @param named - path relative to the folder where the process was started
 * @param key - key of the attempt. A report with another key belongs to another attempt.
 */
export async function openStatusFile({
  named,
  prompt,
  key,
}: {
  readonly named: string;
  readonly prompt: string | undefined;
  readonly key: string;
}): Promise<StatusFile> {
  const folder = await mkdtemp(join(tmpdir(), 'cairn-stage-'));
  const path = named === '' ? join(folder, 'status.json') : resolve(named);
  const promptPath = prompt === undefined ? undefined : join(folder, 'prompt.md');
  if (promptPath !== undefined) await writeFile(promptPath, prompt ?? '', { mode: 0o600 });
  const before = await identityOf(path);
  return {
    path,
    promptPath,
    async read() {
      const now = await identityOf(path);
      if (now === undefined) return undefined;
      if (now === before) return { fault: `${path} is older than this attempt: the stage wrote none` };
      return readAt(path, key);
    },
    close: () => rm(folder, { recursive: true, force: true }),
  };
}

/** Identifies one version of the file. Undefined if there is no file. */
async function identityOf(path: string): Promise<string | undefined> {
  const found = await lstat(path, { bigint: true }).catch((error: unknown) => {
    if (['ENOENT', 'ENOTDIR'].includes(String((error as { code?: unknown }).code))) return undefined;
    throw error;
  });
  return found && `${found.ino} ${found.mtimeNs} ${found.ctimeNs} ${found.size}`;
}

async function readAt(path: string, key: string): Promise<Reported> {
  const text = await readText(path);
  if (typeof text !== 'string') return text;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return { fault: `${path} is no JSON: ${(error as Error).message}` };
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return { fault: `${path} holds no object` };
  const report = value as Readonly<Record<string, unknown>>;
  const { key: said } = report;
  if (said !== undefined && said !== key) return { fault: `${path} is of another attempt: its key is not this one's` };
  return readReport(report);
}

/** Reads the file. It may be a link or a pipe, so links are not followed and reads do not wait. */
async function readText(path: string): Promise<string | { readonly fault: string }> {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  try {
    const file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    try {
      const { size, isFile } = await file.stat().then((stat) => ({ size: stat.size, isFile: stat.isFile() }));
      if (!isFile) return { fault: `${path} is no regular file` };
      if (size > bytesMax) return { fault: `${path} has ${size} bytes, over the limit of ${bytesMax}` };
      return await file.readFile('utf8');
    } finally {
      await file.close();
    }
  } catch (error) {
    return { fault: `${path} cannot be read (${String((error as { code?: unknown }).code)})` };
  }
}
