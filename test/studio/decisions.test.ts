/** What the studio decides without a page: what a form changed, what waits, how a story is told and where its times stand. */
import { describe, expect, test } from 'vitest';
import { readDot } from '../../src/dialects/dot/read-dot.ts';
import { questionKey } from '../../studio/data/alike.ts';
import { isThinking } from '../../studio/data/chat.ts';
import { differences } from '../../studio/data/differences.ts';
import { faultsOfProblem } from '../../studio/data/form-faults.ts';
import { defaultsOf, isComplete, isLongText, typeOf } from '../../studio/data/form-values.ts';
import type { RunEvent, Story, Structure, StructureNode, Visit, Wait } from '../../studio/data/types.ts';
import { actsOutside, edgeWords, labelOfNode } from '../../studio/graph/nodes.ts';
import { WaitPages, type WaitsPage } from '../../studio/data/wait-pages.ts';
import { eventLine, stepWords, toneOf, withPages } from '../../studio/pages/run/story-lines.ts';
import { lanesOf, scaleOf } from '../../studio/pages/run/time-lanes.ts';
import { runWords, waitWords } from '../../studio/words.ts';

const now = Date.UTC(2026, 0, 1, 12);
const wait = (waitId: string, fields: Partial<Wait> = {}): Wait => ({
  runId: 'r',
  graphId: 'g',
  waitId,
  kind: 'question',
  name: 'ask',
  node: ['ask'],
  ...fields,
});

test('P6 a drawn pipeline shows what its author called its stages, and at its edges only what says something', () => {
  const { graph } = readDot(
    `digraph g {
      start [shape=Mdiamond]; exit [shape=Msquare]
      look [shape=parallelogram, label="Look at it", tool_command="true"]
      ask [shape=hexagon, label="Ship?"]
      start -> look -> ask
      ask -> exit [label="[Y] Yes"]
      ask -> look [condition="outcome=fail"]
    }`,
  );
  const { nodes, edges } = graph.structure as unknown as Structure;
  expect(nodes.map((node) => labelOfNode(node)).filter((label) => label !== undefined)).toEqual([
    'Ship?',
    'Look at it',
  ]);
  const words = edgeWords(edges);
  expect(edges.map((edge) => [edge.from, edge.to, words.get(edge)]).filter(([, , said]) => said !== '')).toEqual([
    ['ask', 'exit', '[Y] Yes'],
    ['ask', 'look', 'outcome=fail'],
  ]);
  const within = {
    id: 'in',
    type: 'graph',
    effect: 'read',
    subgraph: { id: 's', edges: [], nodes: [{ id: 'a', type: 'x', effect: 'external' }] },
  };
  expect([within, { ...within, subgraph: undefined }].map((node) => actsOutside(node as StructureNode))).toEqual([
    true,
    false,
  ]);
});

test('P6 questions are alike if they show the same: name, prompt, form, choices and arguments; effects in doubt are never', () => {
  const one = wait('w1', { prompt: 'Send?', metadata: { tool: 'mail', args: { to: 'ann' } } });
  const shown = questionKey(one);
  expect(questionKey({ ...one, runId: 'other', waitId: 'w2', openedAt: 7 })).toBe(shown);
  const others: readonly Partial<Wait>[] = [
    { name: 'else' },
    { prompt: 'Pay?' },
    { schema: { type: 'string' } },
    { choices: ['yes'] },
    { metadata: { tool: 'mail', args: { to: 'bo' } } },
    { for: ['role:finance'] },
  ];
  for (const other of others) expect(questionKey({ ...one, ...other })).not.toBe(shown);
  for (const kind of ['doubt', 'signal', 'budget', 'refused']) expect(questionKey({ ...one, kind })).toBeUndefined();
});

test('P6 a run that waits for word of an effect says of which, from whom and until when', () => {
  const run = { status: 'running', createdAt: now, updatedAt: now, isStopped: false, hasMessages: false };
  const awaits = [
    { node: ['pay', 'run', 'charge'], step: 'card kJ2hs8dh3kJ2hs8dh3kJ2hs8', owner: 'w7', until: now + 60_000 },
  ];
  const { tone, text } = runWords({ ...run, awaits }, [], now);
  expect([tone, text]).toEqual([
    'doubt',
    expect.stringMatching(/^waits for word of pay \/ charge \(card\) from w7, which lost the run, until \d\d:01$/u),
  ]);
});

test('P6 what a server finds wrong stands at its field, in words', () => {
  const body = {
    errors: [
      { pointer: '/value/mail', detail: 'is missing' },
      { pointer: '/value/parts/0', detail: 'Too small: at least 3' },
      { pointer: '/wait', detail: 'is a text' },
    ],
  };
  expect([...faultsOfProblem({ body }, '/value')]).toEqual([
    ['/mail', 'This is missing.'],
    ['/parts/0', 'Too small: at least 3'],
  ]);
  expect(faultsOfProblem(undefined, '/value').size).toBe(0);
});

describe('P6 a fork is told what its form changed', () => {
  test('what was set, what was added, and what was removed, down to values that are no objects', () => {
    const before = { a: 1, deep: { kept: [1], gone: 'x' }, list: [1, 2] };
    expect(differences(before, structuredClone(before), 'input')).toEqual([]);
    expect(differences(before, { a: 2, deep: { kept: [1], more: true }, list: [2] }, 'input')).toEqual([
      ['input.a', 2],
      ['input.deep.gone', null],
      ['input.deep.more', true],
      ['input.list', [2]],
    ]);
    expect(differences({ a: { b: 1 } }, { a: null }, 'input')).toEqual([['input.a', null]]);
    expect(differences(undefined, { a: 1 }, 'input')).toEqual([['input', { a: 1 }]]);
  });
});

describe('P6 the inbox holds what waits, and nothing that waited', () => {
  const page = (from: number, to: number, cursor?: string): WaitsPage => ({
    waits: Array.from({ length: to - from }, (_, index) => wait(`w${from + index}`)),
    hasMore: cursor !== undefined,
    waiting: [],
    answered: [],
    ...(cursor !== undefined && { cursor }),
  });
  const idsOf = ({ waits }: WaitsPage): readonly string[] => waits.map(({ waitId }) => waitId);

  test('pages behind the first go when the first is all there is', async () => {
    let pages: Readonly<Record<string, WaitsPage>> = { '': page(0, 2, 'c'), c: page(2, 4) };
    const asked: string[] = [];
    const all = new WaitPages((cursor = '') => {
      asked.push(cursor);
      return Promise.resolve(pages[cursor] as WaitsPage);
    });
    expect(idsOf(await all.read(false, now))).toEqual(['w0', 'w1', 'w2', 'w3']);
    // One closed, so that the next has moved up.
    pages = { '': page(1, 3, 'c'), c: page(3, 4) };
    expect(idsOf(await all.read(false, now + 1_000))).toEqual(['w1', 'w2', 'w3']);
    expect(asked).toEqual(['', 'c', '']);
    await all.read(true, now + 2_000);
    await all.read(false, now + 17_000);
    await all.read(false, now + 17_001);
    expect(asked.slice(3)).toEqual(['', 'c', '', '', 'c']);
    // What was behind the first page has closed.
    pages = { '': page(1, 2) };
    expect(idsOf(await all.read(false, now + 18_000))).toEqual(['w1']);
  });

  test('ten pages are walked, and no more', async () => {
    let asked = 0;
    const all = new WaitPages(() => Promise.resolve(page(asked, (asked += 1), 'more')));
    expect(idsOf(await all.read(false, now))).toHaveLength(10);
    expect(asked).toBe(10);
  });
});

describe('P6 a form has the fields of its schema', () => {
  test('each type its own, and JSON for what has none', () => {
    expect(typeOf({ enum: ['a', 'b'] })).toBe('choice');
    expect(typeOf({ enum: [{}] })).toBe('json');
    expect(typeOf({ properties: {} })).toBe('object');
    expect(typeOf({ type: ['null', 'integer'] })).toBe('integer');
    expect(typeOf({ type: 'array' })).toBe('json');
    expect(typeOf({})).toBe('json');
  });

  test('a text that may have over 300 letters, or has over 80 or several lines, gets several lines', () => {
    const isLong = (maxLength: number | undefined, text: string): boolean =>
      isLongText(maxLength === undefined ? {} : { maxLength }, text);
    expect([isLong(300, ''), isLong(301, ''), isLong(undefined, '')]).toEqual([false, true, false]);
    expect([isLong(undefined, 'x'.repeat(80)), isLong(undefined, 'x'.repeat(81)), isLong(1, 'a\nb')]).toEqual([
      false,
      true,
      true,
    ]);
  });

  test('it begins with the defaults, and is complete when what is required is there', () => {
    const schema = {
      required: ['a', 'b', 'c'],
      properties: { a: { type: 'string' }, b: { default: 1 }, c: { required: ['d'], properties: { d: {} } } },
    };
    expect(defaultsOf(schema)).toEqual({ b: 1, c: {} });
    expect(isComplete(schema, { a: 'x', c: { d: 1 } })).toBe(true);
    for (const value of [undefined, { c: { d: 1 } }, { a: 'x' }, { a: 'x', c: {} }])
      expect(isComplete(schema, value)).toBe(false);
    expect([isComplete(undefined, undefined), isComplete({}, undefined), isComplete({}, 0)]).toEqual([
      true,
      false,
      true,
    ]);
  });
});

describe('P6 what waits is told in words', () => {
  test('each kind by what it waits for, since when, and a question by what it asks', () => {
    const wordsOf = (fields: Partial<Wait>) => waitWords(wait('w', fields), now);
    const openedAt = now - 3 * 3_600_000;
    expect(wordsOf({ openedAt, prompt: 'Pay?' })).toEqual({
      tone: 'waiting',
      text: 'waiting for an answer since 3 h',
      detail: 'Pay?',
    });
    expect(wordsOf({ isApproval: true })).toEqual({ tone: 'waiting', text: 'waiting for an approval' });
    expect(wordsOf({ kind: 'doubt', node: ['pay'], metadata: { step: 'charge' } })).toMatchObject({
      tone: 'doubt',
      detail: 'Did pay (charge) happen?',
    });
    expect(wordsOf({ kind: 'signal', name: 'paid' })).toEqual({
      tone: 'sleeping',
      text: 'waiting for the signal paid',
    });
  });

  test('a run that is paused by what it waits for, doubts first', () => {
    const run = { status: 'paused', createdAt: now - 60_000, updatedAt: now - 60_000, isStopped: false, hasMessages: false } as const; // prettier-ignore
    expect(runWords(run, [], now).text).toBe('waiting since 1 min');
    expect(runWords({ ...run, hasMessages: true }, [], now).text).toMatch(/^answered/u);
    const several = [wait('a', { prompt: 'Pay?' }), wait('b', { kind: 'doubt' }), wait('c')];
    expect(runWords(run, several, now)).toMatchObject({ tone: 'doubt', text: 'in doubt, and 2 more' });
    expect(runWords(run, several.slice(0, 1), now).detail).toBe('Pay?');
  });
});

describe('P6 a story is told in lines', () => {
  const event = (kind: RunEvent['kind'], fields: Partial<RunEvent> = {}): RunEvent => ({
    kind,
    runId: 'r',
    seq: 1,
    at: now,
    ...fields,
  });
  const visit = (fields: Partial<Visit>): Visit =>
    ({ kind: 'visit', runId: 'r', path: ['a'], visit: 1, at: now, seq: 1, status: 'completed', questions: [], steps: [], ...fields }) as unknown as Visit; // prettier-ignore

  test('what the run did, by whom, each in its colour', () => {
    expect(eventLine(event('cancel', { by: 'ann' }))).toEqual({
      title: 'The run was cancelled by ann',
      tone: 'cancelled',
    });
    expect(eventLine(event('pause'))).toEqual({ title: 'The run waits', tone: 'sleeping' });
    expect(eventLine(event('end', { status: 'failed' }))).toEqual({ title: 'The run ended: failed', tone: 'failed' });
    expect(eventLine(event('fork', { from: { runId: 'o', seq: 3 } }))).toEqual({
      title: 'The run was forked from o@3',
      tone: 'idle',
    });
  });

  test('how a visit stands: a doubt before all, and what waits by what it waits for', () => {
    const question = { kind: 'question', name: 'q', at: now, seq: 1 } as never;
    const doubt = { kind: 'doubt', name: 'd', at: now, seq: 1 } as never;
    const timer = { kind: 'timer', name: 't', at: now, seq: 1 } as never;
    expect(toneOf(visit({ status: 'waiting', questions: [question, doubt] }))).toBe('doubt');
    expect(toneOf(visit({ status: 'waiting', questions: [question] }))).toBe('waiting');
    expect(toneOf(visit({ status: 'waiting', questions: [timer] }))).toBe('sleeping');
    expect(toneOf(visit({ status: 'started' }))).toBe('running');
    expect(toneOf(visit({ status: 'started', isUnfinished: true, questions: [doubt] }))).toBe('cancelled');
  });

  test('steps that are alike are counted', () => {
    const steps = ['model', 'model', 'tool orders'].map((step) => ({ step, status: 'done' }));
    expect(stepWords([...steps, { step: 'tool orders', status: 'failed' }] as never)).toBe(
      'model ×2, tool orders, tool orders failed',
    );
  });

  test('pages that were read from the end stand in their order, and the oldest says whether there is more', () => {
    const entry = (seq: number): RunEvent => ({ kind: 'resume', runId: 'r', seq, at: now });
    const newest = { runId: 'r', entries: [entry(8), entry(9)], before: '8.0' } as unknown as Story;
    const seqs = (story: Story): readonly unknown[] => [story.entries.map(({ seq }) => seq), story.before];
    const pages = { of: '', entries: [entry(5), entry(6)], before: '5.0' };
    expect(seqs(withPages(newest, pages))).toEqual([[5, 6, 8, 9], '5.0']);
    expect(seqs(withPages(newest, { ...pages, before: undefined }))).toEqual([[5, 6, 8, 9], undefined]);
  });

  test('times stand in their order, and a long gap is as wide as twenty usual ones', () => {
    const asked = {
      kind: 'question',
      name: 'q',
      at: now + 110,
      seq: 4,
      closedAt: { at: now + 100_000, seq: 5 },
    } as never;
    const story = {
      startedAt: now,
      endedAt: now + 100_010,
      entries: [
        ...Array.from({ length: 10 }, (_, index) => visit({ path: ['a'], at: now + 10 * (index + 1), durationMs: 10 })),
        visit({ path: ['__start__'], at: now }),
        visit({ path: ['c'], at: now + 100_010, questions: [asked] }),
        event('end'),
      ],
    } as unknown as Story;
    const lanes = lanesOf(story);
    expect(lanes.map(({ name, bars }) => [name, bars.length])).toEqual([
      ['a', 10],
      ['c', 1],
    ]);
    expect(lanes[1]?.bars[0]).toMatchObject({ from: now + 110, to: now + 100_000, isWait: true, tone: 'waiting' });
    const scale = scaleOf(lanes, story.startedAt, story.endedAt);
    // Twelve gaps of 10 ms, and one of 99,890, which counts as 200.
    const places = [0, 10, 110, 100_000, 100_010].map((ms) => scale.place(now + ms));
    expect(places.map((at) => Math.round(at * 10) / 10)).toEqual([0, 3.1, 34.4, 96.9, 100]);
    expect(scale.breaks.map(({ at, idleMs }) => [Math.round(at), idleMs])).toEqual([[66, 99_890]]);
  });
});

test('P6 a chat says that it thinks while an answer is on its way of which nothing is there yet', () => {
  const said = { id: 'one', role: 'user', parts: [] } as const;
  const begun = { id: 'two', role: 'assistant', parts: [] } as const;
  expect([isThinking(true, [said]), isThinking(true, [said, begun]), isThinking(false, [said])]).toEqual([
    true,
    false,
    false,
  ]);
  expect(isThinking(true, [])).toBe(false);
});
