/** Changes of meaning in workers, wakes and schedules. */
import type { Mutant } from './mutant.ts';

export const workersMutants: readonly Mutant[] = [
  {
    name: 'a run that nobody has begun counts as begun',
    file: 'src/engine/commands/active-runs.ts',
    old: 'run.claims > 1 && isGoing',
    new: 'claim.token > 1 && isGoing',
    tests: ['test/poison/deaths-shown.test.ts'],
  },
  {
    name: 'what a node leaves behind keeps its run in memory',
    file: 'src/engine/live-run/agenda.ts',
    old: '    activation.scope?.end();\n',
    new: '',
    tests: ['test/memory/finished-runs.test.ts'],
  },
  {
    name: 'an error that nobody caught in a step fails the node around it',
    file: 'src/engine/effects/retry.ts',
    old: 'const run = (): Promise<T> | T => callInScope(scope, () => fn(step));',
    new: 'const run = (): Promise<T> | T => fn(step);',
    tests: ['src/app/process/uncaught-errors.test.ts'],
  },
  {
    name: 'a late error of an attempt that has ended is not on record',
    file: 'src/engine/live-run/attempt-scope.ts',
    old: 'if (!isFailing) run?.warn(label, error);',
    new: '',
    tests: ['src/app/process/uncaught-errors.test.ts'],
  },
  {
    name: 'a planned attempt is forgotten when it is due',
    file: 'src/engine/waits/open-wait.ts',
    old: "  core.draft.set([...recordPathOf(wait.node), 'retryAt'], retryAt);",
    new: "  core.draft.delete([...recordPathOf(wait.node), 'retryAt']);",
    tests: ['src/engine/commands/wakes.test.ts'],
  },
  {
    name: 'an answer lets a paused run go on though a resume follows',
    file: 'src/engine/engine.ts',
    old: 'if (stays) return;',
    new: '',
    tests: ['src/engine/commands/wakes.test.ts'],
  },
  {
    name: 'a timer for a due time trusts that no machine sleeps',
    file: 'src/engine/commands/wakes.ts',
    old: 'Math.min(delayMs, longestTimerMs)',
    new: 'delayMs',
    tests: ['src/engine/commands/wakes.test.ts'],
  },
  {
    name: 'a signal to a run that has completed is taken and never heard',
    file: 'src/engine/commands/answer.ts',
    old: "status === 'completed' || status === 'cancelled'",
    new: "status === 'cancelled'",
    tests: ['src/engine/commands/wakes.test.ts'],
  },
  {
    name: 'a worker that was asked to stop takes more',
    file: 'src/engine/worker.ts',
    old: 'if (limit <= 0 || this.#isStopped) return 0;',
    new: 'if (limit <= 0) return 0;',
    tests: ['src/app/worker.test.ts'],
  },
  {
    name: 'a due time is started under an id of its own each time',
    file: 'src/app/schedules/keep-schedule.ts',
    old: 'return `${name}.${new Date(dueMs)',
    new: 'return `${name}.${Math.random()}${new Date(dueMs)',
    tests: ['src/app/schedules/schedule.test.ts'],
  },
  {
    name: 'a due time that is met at its very moment is left for the next',
    file: 'src/app/schedules/cron-times.ts',
    old: 'new Date(clockTime + 1)',
    new: 'new Date(clockTime)',
    tests: ['src/app/schedules/schedule.test.ts'],
  },
  {
    name: 'a missed due time is started though the policy skips it',
    file: 'src/app/schedules/keep-schedule.ts',
    old: "missed === 'last' && recent",
    new: 'recent',
    tests: ['src/app/schedules/schedule.test.ts'],
  },
];
