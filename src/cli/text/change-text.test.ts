/** What happened, in a few words. */
import { expect, test } from 'vitest';
import { describeChange, describePart } from './change-text.ts';

test('H1 what a composed node kept, told and retired is said by name; a long event is cut, and can do nothing to a terminal', () => {
  const node = ['agent'];
  const line = describeChange([
    { kind: 'append', node, list: 'talk' },
    { kind: 'event', node, visit: 2, name: 'progress', detail: { done: 3, text: '\u001b[2J' } },
    { kind: 'retire', node },
  ]);
  expect(line).toMatch(
    /^agent appended to talk; agent \(visit 2\) told progress: \{"done":3,"text":".*"\}; agent retired/,
  );
  expect(line).not.toContain('\u001b');
  expect(describeChange([{ kind: 'event', node, name: 'long', detail: 'x'.repeat(1_000) }]).length).toBeLessThan(200);
});

test('H1 a retry is told with the attempt that failed, though the record names the one to come', () => {
  expect(describeChange([{ kind: 'retry', node: ['pay'], attempt: 2 }])).toBe('pay attempt 1 failed, tries again');
});

test('H1 a hash in the name of a step is cut, so that what happened to it is seen; words are left as they are', () => {
  const node = ['agent'];
  const line = describeChange([
    { kind: 'step', node, step: 'tool mail dekAf867GoRHCCmVdTujap 2' },
    { kind: 'step', node, step: 'a-long-name-of-words-and-dashes', status: 'failed' },
  ]);
  expect(line).toBe('agent:tool mail dekAf867… 2 step done; agent:a-long-name-of-words-and-dashes step failed');
});

test('H1 a step, a timer, a question or a look at a child of a name that was called before is told with its count', () => {
  const node = ['house'];
  const line = describeChange([
    { kind: 'answer', node, step: 'poll\u00002', by: 'timer' },
    { kind: 'step', node, step: 'turn\u000012' },
    { kind: 'step', node, step: 'child\u0000\u0000state\u00003' },
  ]);
  expect(line).toBe('house:poll 2 answered by timer; house:turn 12 step done; house:child state 3 step done');
});

test('H1 a node that completed without quite succeeding is told with what it says of itself', () => {
  const line = describeChange([
    { kind: 'settle', node: ['test'], verdict: 'fail', durationMs: 20 },
    { kind: 'settle', node: ['vote'], verdict: 'partial_success' },
    { kind: 'settle', node: ['ship'] },
  ]);
  expect(line).toBe('test ended with fail in 20 ms; vote ended with partial success; ship completed');
});

test('E8 an outcome near the limit of a checkpoint is told by both sizes', () => {
  const detail = { bytes: 9 * 1024 * 1024, limitBytes: 10 * 1024 * 1024 };
  expect(describePart({ kind: 'large', node: ['draft'], detail })).toBe(
    'draft adds 9.0 MiB, near the limit of 10.0 MiB',
  );
});

test('H1 N13 a resume under another graph names nodes that never run, and a fork what was set', () => {
  const graph = [
    { what: 'node added', detail: 'check; the run is past it: it is never run', verdict: 'compatible' },
    { what: 'edge added', detail: 'one -> check', verdict: 'compatible' },
  ];
  const words = 'under another graph: node added check (the run is past it: it is never run)';
  expect(describePart({ kind: 'resume', detail: graph })).toBe(`resumed; ${words}`);
  expect(describePart({ kind: 'resume', detail: graph.slice(1) })).toBe(
    'resumed; under another graph: edge added one -> check',
  );
  const fork = {
    kind: 'fork',
    from: { runId: 'r', seq: 3 },
    detail: { set: ['scratch.x'], answers: ['ok'], graph },
  } as const;
  expect(describePart(fork)).toBe(`forked from r@3; set: scratch.x; answered otherwise: ok; ${words}`);
  expect(describePart({ kind: 'resume' })).toBe('resumed');
});
