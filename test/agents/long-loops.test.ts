/** What a turn of an agent costs does not grow with the turns before it. */
import { expect, test } from 'vitest';
import { agentGraph, makeScript, playScript, timeAgent } from '../../bench/agent-script.ts';
import { createMemoryStore } from '../../src/stores/memory/index.ts';
import { leastCpuRatio } from '../support/cpu-ratio.ts';

/** Runs an agent of so many turns, each with a message and a tool call. */
function runOf(turns: number): () => Promise<unknown> {
  const script = makeScript(turns);
  const graph = agentGraph(script);
  return () =>
    timeAgent(
      graph,
      createMemoryStore(),
      playScript(script, () => undefined),
    );
}

test('A1 sixteen times the turns of an agent take about sixteen times the CPU', async () => {
  expect(await leastCpuRatio(runOf(1_600), runOf(100), { times: 16, bound: 2 })).toBeLessThan(2);
}, 120_000);
