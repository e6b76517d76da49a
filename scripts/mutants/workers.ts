/** Changes of meaning in workers, wakes and schedules. */
import type { Mutant } from './mutant.ts';

export const workersMutants: readonly Mutant[] = [
  {
    name: 'an answer lets a paused run go on though a resume follows',
    file: 'src/engine/engine.ts',
    old: 'if (!stays) this.#wakes?.posted(runId);',
    new: 'this.#wakes?.posted(runId);',
    tests: ['src/engine/runs/wakes.test.ts'],
  },
  {
    name: 'a timer for a due time trusts that no machine sleeps',
    file: 'src/engine/runs/wakes.ts',
    old: 'Math.min(delayMs, longestTimerMs)',
    new: 'delayMs',
    tests: ['src/engine/runs/wakes.test.ts'],
  },
  {
    name: 'a signal to a run that has completed is taken and never heard',
    file: 'src/engine/runs/signal.ts',
    old: "status === 'completed' || status === 'cancelled'",
    new: "status === 'cancelled'",
    tests: ['src/engine/runs/wakes.test.ts'],
  },
  {
    name: 'a worker that was asked to stop takes more',
    file: 'src/engine/worker.ts',
    old: 'if (limit <= 0 || this.#isStopped) return 0;',
    new: 'if (limit <= 0) return 0;',
    tests: ['src/app/worker.test.ts'],
  },
];
