/**
 * Runs of agents that were written when their format was fixed: they are read, and go on. A change of names, keys, notes or of what models
 * are told must leave them so.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readAgentState } from '../../src/agents/view/agent-state.ts';
import { importRun } from '../../src/history/move/import.ts';
import { resumeToRest, runToRest } from '../engine-kit.ts';
import { answerGolden, createGolden, goldenNames } from './golden-agent.ts';

async function* linesOf(name: string): AsyncGenerator<string> {
  const text = readFileSync(join(import.meta.dirname, `golden/${name}-v1.jsonl`), 'utf8');
  for (const line of text.split('\n').slice(0, -1)) yield `${line}\n`;
}

test.each(goldenNames)(
  'C7 A1 A3 an older run of an agent, %s, goes on where it stands, and buys what is due alone',
  async (name) => {
    const now = createGolden(name);
    const whole = await answerGolden(now, await runToRest(now.bench.engine, now.graph, {}, 'golden'), true);
    const older = createGolden(name);
    const { store, options } = older.bench;
    await importRun(store, options.blobs, linesOf(name), { tenant: 'default', as: 'move', workerId: 'importer' });
    const paused = await resumeToRest(older.bench.engine, 'golden', older.graph);
    expect(paused.waits.map(({ prompt }) => prompt)).toEqual(['Which?']);
    const done = await answerGolden(older, paused, true);
    expect(done.error?.cause).toBeUndefined();
    expect([done.status, done.state.outputs]).toEqual(['completed', whole.state.outputs]);
    expect(older.reached).toEqual([name === 'sdk' ? 'model sdk' : 'model m']);
    if (name === 'sdk') return;
    const views = [older, now].map(({ bench }) => readAgentState(bench.engine.history, 'golden', 'a'));
    const [seen, wanted] = await Promise.all(views);
    expect(seen).toEqual(wanted);
  },
);
