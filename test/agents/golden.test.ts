/**
 * Runs of agents that were written when their format was fixed: they are read, and go on. A change of names, keys, notes or of what models
 * are told must leave them so.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readAgentState } from '../../src/agents/view/agent-state.ts';
import { importRun } from '../../src/history/export-import/import.ts';
import { resumeToRest, runToRest } from '../engine-kit.ts';
import { answerGolden, createGolden, goldenNames, type GoldenName, type GoldenRun } from './golden-agent.ts';

async function* linesOf(name: string): AsyncGenerator<string> {
  const text = readFileSync(join(import.meta.dirname, `golden/${name}-v1.jsonl`), 'utf8');
  for (const line of text.split('\n').slice(0, -1)) yield `${line}\n`;
}

async function importOlder(name: GoldenName): Promise<GoldenRun> {
  const older = createGolden(name);
  const { store, options } = older.bench;
  await importRun(store, options.blobs, linesOf(name), { tenant: 'default', as: 'move', workerId: 'importer' });
  return older;
}

test.each(goldenNames)(
  'C7 A1 A3 an older run of an agent, %s, goes on where it stands, and buys what is due alone',
  async (name) => {
    const now = createGolden(name);
    const whole = await answerGolden(now, await runToRest(now.bench.engine, now.graph, {}, 'golden'), true);
    const older = await importOlder(name);
    const paused = await resumeToRest(older.bench.engine, 'golden', older.graph);
    expect(paused.waits.map(({ prompt }) => prompt)).toEqual(['Which?']);
    const done = await answerGolden(older, paused, true);
    expect(done.error?.cause).toBeUndefined();
    expect([done.status, done.state.outputs]).toEqual(['completed', whole.state.outputs]);
    const isOfSdk = name.startsWith('sdk');
    expect(older.reached).toEqual([isOfSdk ? 'model sdk' : 'model m']);
    if (isOfSdk) return;
    const views = [older, now].map(({ bench }) => readAgentState(bench.engine.history, 'golden', 'a'));
    const [seen, wanted] = await Promise.all(views);
    expect(seen).toEqual(wanted);
  },
);

test.each(goldenNames)(
  'C7 X2 a fork of an older run of an agent, %s, takes over the model calls and effects of it',
  async (name) => {
    const older = await importOlder(name);
    const { engine } = older.bench;
    const { runId } = await engine.fork({ runId: 'golden', seq: 0 });
    let standing = await resumeToRest(engine, runId, older.graph);
    for (let answers = 0; answers < 3 && standing.waits[0]?.prompt !== 'Which?'; answers += 1) {
      await engine.answer(runId, standing.waits[0]?.waitId ?? '', { decision: 'edit', args: { a: 2 } });
      standing = await resumeToRest(engine, runId, older.graph);
    }
    expect(standing.waits.map(({ prompt }) => prompt)).toEqual(['Which?']);
    expect(older.reached.filter((what) => what !== 'look' && what !== 'cached')).toEqual([]);
  },
);
