import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { describeWorker, isProcessDead, ownProcessName, createSystemIds } from './process-ids.ts';

test('O2 this process is alive, under the name it gives itself', () => {
  expect(isProcessDead(ownProcessName())).not.toBe(true);
  expect(ownProcessName()).toBe(ownProcessName());
});

test('O2 a killed process is dead, also when its pid is used again', async () => {
  const child = spawn(process.execPath, ['-e', 'process.stdin.resume()'], { stdio: 'pipe' });
  const [place, , start] = ownProcessName().split(':');
  const name = `${place}:${child.pid}:${start}`;
  // The pid is in use, but by a process that started at another time: where that can be known, the one named is gone.
  expect(isProcessDead(name)).toBe(process.platform === 'linux' ? true : undefined);
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(isProcessDead(name)).toBe(true);
});

test('O2 a process of another place is not judged', () => {
  expect(isProcessDead('elsewhere/1234/5678:999999:1')).toBeUndefined();
  expect(isProcessDead('nonsense')).toBeUndefined();
});

test('O3 two workers of one process have two names, and neither is dead', () => {
  const [first, second] = [createSystemIds(), createSystemIds()];
  expect(first.workerId).not.toBe(second.workerId);
  expect(first.isWorkerDead(second.workerId)).not.toBe(true);
});

test('E2 run ids are UUIDs of version 7 in the order they were made, whatever the clock does', () => {
  const ids = createSystemIds();
  const times = [1_000, 1_000, 999, 1_001, ...Array.from({ length: 5_000 }, () => 1_001), 2_000];
  const made = times.map((nowMs) => ids.createRunId(nowMs));
  expect(new Set(made).size).toBe(made.length);
  expect([...made].sort()).toEqual(made);
  for (const id of made) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(parseInt(ids.createRunId(1_700_000_000_000).replaceAll('-', '').slice(0, 12), 16)).toBe(1_700_000_000_000);
});

test('O3 who holds a run is told as a process, whatever else its name holds', () => {
  expect(describeWorker('desk/1b2c/4026:6192:2942351:1')).toBe('process 6192 on desk');
  expect(describeWorker(createSystemIds().workerId)).toMatch(new RegExp(`^process ${process.pid} on .`));
  expect(describeWorker('worker-1')).toBe('worker-1');
});
