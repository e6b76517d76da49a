/** What processes of this machine have taken of the CPU so far: those that are measured, and a Postgres server with all of its own. */
import { readdirSync, readFileSync } from 'node:fs';
import { NotMeasured } from './group.ts';
import type { MeasuredServer } from './postgres.ts';

/** Linux counts in hundredths of a second. */
const msPerTick = 10;

interface ProcessTimes {
  readonly parent: number;
  /** Its own, in ms. */
  readonly own: number;
  /** Of its children that have ended, in ms. */
  readonly ended: number;
}

function readTimes(pid: number | string): ProcessTimes | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name of the program, in parentheses, may have spaces.
    const fields = text
      .slice(text.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
    const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = fields.slice(11);
    return { parent: fields[1] ?? 0, own: (user + system) * msPerTick, ended: (endedUser + endedSystem) * msPerTick };
  } catch {
    // It has ended meanwhile.
    return undefined;
  }
}

/** CPU time that a process has taken so far, user and system, in ms; 0 if it is not there, or not on Linux. */
export const cpuOf = (pid: number | undefined): number => (pid === undefined ? 0 : (readTimes(pid)?.own ?? 0));

/** CPU time of all children of this process that have ended, and of theirs, in ms; 0 if not on Linux. */
export const cpuOfEndedChildren = (): number => readTimes(process.pid)?.ended ?? 0;

/** @returns reads the CPU time of the server so far, in ms. @throws NotMeasured the server runs elsewhere */
export async function openServerCpu({ pool }: MeasuredServer): Promise<() => number> {
  const { rows } = await pool.query('select pg_backend_pid() as pid');
  const main = readTimes(Number(rows[0]?.['pid']))?.parent ?? 0;
  if (readTimes(main) === undefined)
    throw new NotMeasured('the CPU of a server can be read on its own machine, on Linux');
  return () => {
    const server = readTimes(main);
    const children = readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(readTimes)
      .filter((times) => times?.parent === main);
    return (server?.own ?? 0) + (server?.ended ?? 0) + children.reduce((sum, times) => sum + (times?.own ?? 0), 0);
  };
}
