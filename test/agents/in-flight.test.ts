/** An agent of 15 loops, killed at every point: what is asked of models and tools again was in flight, counted from outside (A2, A4). */
import { expect, test } from 'vitest';
import { agent } from '../../src/agents/agent.ts';
import { modeNames } from '../../src/agents/modes/modes.ts';
import type { ModeName } from '../../src/agents/modes/text-modes.ts';
import { tool, type FunctionTool } from '../../src/agents/tools/tool-box.ts';
import { createScriptedModels } from '../../src/models/scripted.ts';
import { createMemoryStore } from '../../src/stores/memory/index.ts';
import type { CrashCase, CrashPoint, CrashProcess } from '../../src/testing/crash-kit/process-life.ts';
import { crashEverywhere } from '../../src/testing/crash-kit/crash-everywhere.ts';
import { edges, graphOf } from '../engine-kit.ts';
import { samplePoints, scale } from '../support/scale.ts';
import { sayAnswer, sayCalls } from './say.ts';

const loops = 15;
/** The calls of each loop side by side: among them equal ones, and by turns each class. */
const callsOf = (loop: number): readonly string[] =>
  ['look', 'send', 'look', 'compute', 'push', 'slow'].slice(0, 2 + (loop % 5));

/** A call that reached the outside: what it was, and in which loop and process. */
interface Reached {
  readonly name: string;
  readonly key: string;
  readonly loop: number;
  readonly life: number;
}

/** What the outside saw of one trial. */
class Witness {
  lives = 0;
  readonly calls: Reached[] = [];

  note(life: number, name: string, key: string, loop: number): void {
    this.calls.push({ name, key, loop, life });
  }

  /** The calls that a process made though one before it had made them. */
  repeatsOf(life: number): readonly Reached[] {
    const before = new Set(this.calls.flatMap((call) => (call.life < life ? [call.key] : [])));
    return this.calls.filter((call) => call.life === life && before.has(call.key));
  }

  /** What is wrong with what was made again, one sentence each. */
  faults(): readonly string[] {
    const faults: string[] = [];
    for (let life = 2; life <= this.lives; life += 1) {
      const again = this.repeatsOf(life);
      const models = again.filter(({ name }) => name === 'model');
      const told = again.map(({ name, loop }) => `${name} of loop ${loop}`).join(', ');
      // Everything that ended in an earlier loop is on record: each model call begins when all before it is durable.
      const loop = Math.max(...this.calls.flatMap((call) => (call.life < life ? [call.loop] : [])));
      if (models.length > 1) faults.push(`process ${life} bought ${models.length} model calls again: ${told}`);
      if (again.some((call) => call.loop < loop)) faults.push(`process ${life} went back behind loop ${loop}: ${told}`);
    }
    return faults;
  }
}

const input = { type: 'object', required: ['loop', 'nth'] };
const loopOf = (args: unknown): number => (args as { readonly loop: number }).loop;

function caseOf(mode: ModeName, witness: () => Witness): CrashCase {
  let life = 0;
  const toolsOf = ({ oracle, sleep }: CrashProcess, own: number): Readonly<Record<string, FunctionTool>> => {
    const reach = (name: string, key: string, args: unknown): void => witness().note(own, name, key, loopOf(args));
    const effect = (name: string, promise: 'once' | 'repeatable', more: Partial<FunctionTool>): FunctionTool =>
      tool({
        description: name,
        input,
        approval: 'never',
        run: (args, { idempotencyKey }) => {
          oracle.apply({ key: idempotencyKey, place: `${name} ${idempotencyKey}`, promise, output: name });
          reach(name, idempotencyKey, args);
          return name;
        },
        ...more,
      });
    const reads = (name: string, delayMs: number): FunctionTool =>
      tool({
        description: name,
        input,
        effect: 'read',
        run: async (args, { idempotencyKey }) => {
          reach(name, idempotencyKey, args);
          if (delayMs > 0) await sleep(delayMs);
          return name;
        },
      });
    return {
      look: reads('look', 0),
      slow: reads('slow', 50),
      compute: tool({ description: 'compute', input, effect: 'pure', run: loopOf }),
      send: effect('send', 'once', { reconcile: ({ idempotencyKey }) => oracle.reconcile(idempotencyKey) }),
      push: effect('push', 'repeatable', { idempotent: true }),
    };
  };
  return {
    graph: (process) => {
      const seen = witness();
      seen.lives += 1;
      life = seen.lives;
      const worker = agent({ model: 'm', prompt: 'Go.', tools: toolsOf(process, life), maxLoops: loops + 1, mode });
      return graphOf('g', [{ id: 'a', ...worker }], edges('> a', 'a >'));
    },
    models: () => {
      const own = life;
      return createScriptedModels(({ messages, idempotencyKey }) => {
        const loop = messages.filter(({ role }) => role === 'assistant').length;
        witness().note(own, 'model', idempotencyKey, loop);
        if (loop === loops) return sayAnswer(mode, `seen ${JSON.stringify(messages)}`);
        const calls = callsOf(loop).map((name, nth) => ({
          tool: name,
          input: { loop, nth: name === 'look' ? 0 : nth },
        }));
        return sayCalls(mode, `turn ${loop}`, calls);
      });
    },
    input: {},
  };
}

/** Of the points that are taken each alone; and at every seventh the process that comes after is killed too. */
const choose = (all: readonly CrashPoint[]): readonly (readonly CrashPoint[])[] => {
  const points = samplePoints(12)(all);
  return [
    ...points.map((point) => [point]),
    ...points.flatMap((point, index) =>
      index % 7 === 0 ? [[point, { kind: 'write', number: 1 + (index % 5), when: 'before' } as const]] : [],
    ),
  ];
};

test.each(modeNames)(
  `A2 A4 P1 P2 in mode %s at most one model call of ${loops} is bought again by a process that follows a killed one, and of tools only calls of that loop`,
  { timeout: 600_000 },
  async (mode) => {
    const trials: Witness[] = [];
    const report = await crashEverywhere(
      caseOf(mode, () => trials.at(-1) as Witness),
      {
        open: (now) => {
          trials.push(new Witness());
          return { store: createMemoryStore({ now }) };
        },
        choose,
      },
    );
    expect(report.faults).toEqual([]);
    expect(trials.flatMap((trial) => trial.faults())).toEqual([]);
    expect(report.trials).toBeGreaterThan(scale(11, loops * 10));
    // The outside does see it where a call in flight is made again, and that a killed process costs no more than that.
    const again = trials.flatMap((trial) =>
      Array.from({ length: trial.lives }, (_, index) => trial.repeatsOf(index + 1).map(({ name }) => name)),
    );
    expect(again.some((names) => names.length === 1 && names[0] === 'model')).toBe(true);
    expect(again.some((names) => names.includes('slow') && !names.includes('model'))).toBe(true);
    // A tool that acts begins when the answer that asked for it is durable.
    expect(again.flat()).not.toContain('send');
    expect(again.some((names) => names.includes('model') && names.includes('push'))).toBe(false);
  },
);
