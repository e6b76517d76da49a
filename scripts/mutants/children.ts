/** Changes of meaning in child runs, and in calls that overlap. */
import type { Mutant } from './mutant.ts';

export const childMutants: readonly Mutant[] = [
  {
    name: 'a node in doubt gives its place to what is queued',
    file: 'src/engine/run/agenda.ts',
    old: 'if (!isBusy && !isOver) taken += 1;',
    new: '',
    tests: ['src/engine/effects/places-in-doubt.test.ts'],
  },
  {
    name: 'what a child run had begun is taken up behind what is queued',
    file: 'src/engine/settle/start-planned.ts',
    old: 'queue.unshift(...begun);',
    new: 'queue.push(...begun);',
    tests: ['src/engine/effects/places-in-doubt.test.ts'],
  },
  {
    name: 'a part in doubt gives its place away though its failure would be the end',
    file: 'src/graph/run-parts.ts',
    old: " || (keepsPlace === 'in doubt' && isInDoubt)",
    new: '',
    tests: ['src/engine/waits/waiting-parts.test.ts', 'test/maps/doubts.test.ts'],
  },
  {
    name: 'parts that had begun are dropped with those that had not',
    file: 'src/graph/run-parts.ts',
    old: 'queue = queue.filter(([index]) => begunIndices.has(index));',
    new: 'queue = begunIndices === undefined ? queue : [];',
    tests: ['src/engine/waits/waiting-parts.test.ts', 'test/maps/doubts.test.ts'],
  },
  {
    name: 'a child run in doubt is taken for one that asks',
    file: 'src/engine/waits/leave.ts',
    old: 'if (nodePath.every((part, index) => path[index] === part)) return true;',
    new: '',
    tests: ['src/engine/waits/waiting-parts.test.ts', 'test/maps/doubts.test.ts'],
  },
  {
    name: 'a run pauses before another part begins in the place of one that waits',
    file: 'src/engine/run/agenda.ts',
    old: 'cancelled.length + toldCount > 0',
    new: 'cancelled.length > 0',
    tests: ['src/engine/waits/waiting-parts.test.ts', 'test/maps/doubts.test.ts'],
  },
  {
    name: 'a run pauses while a child run is being begun beside one that waits',
    file: 'src/engine/waits/leave.ts',
    old: "  if (activation.phase === 'running') core.agenda.setBusy(activation, true);\n",
    new: '',
    tests: ['src/engine/waits/waiting-parts.test.ts', 'test/maps/doubts.test.ts'],
  },
  {
    name: 'a signal to a child run is taken by a fork from its original too',
    file: 'src/engine/calls/wait-calls.ts',
    old: 'if (replayed === undefined || replayed.step.by === sentByParent) return undefined;',
    new: 'if (replayed === undefined) return undefined;',
    tests: ['src/engine/calls/child-forks.test.ts'],
  },
  {
    name: 'overlapping calls come back in the order in which they are called',
    file: 'src/engine/run/call-order.ts',
    old: 'if (isPatient && next < first) return this.#goOn(false);',
    new: '',
    tests: ['src/engine/calls/overlapping-calls.test.ts', 'test/crash/child-runs.test.ts'],
  },
  {
    name: 'a save retires a child run that is still under way',
    file: 'src/engine/calls/save.ts',
    old: 'filter(({ isTaken }) => !isTaken)',
    new: 'filter(({ isTaken }) => isTaken)',
    tests: ['src/engine/calls/child-saves.test.ts'],
  },
  {
    name: 'what follows a cancelled node of a cancelled child run starts',
    file: 'src/engine/settle/start-planned.ts',
    old: 'frameRun.isCancelled ? start.map(({ node }) => node) : cancel',
    new: 'cancel',
    tests: ['src/engine/calls/child-handles.test.ts'],
  },
  {
    name: 'a wait that is closed beside a child run is heard when that has ended',
    file: 'src/engine/waits/open-wait.ts',
    old: '  else if (step !== undefined) goOnFromWait(core, activation, step);\n',
    new: '',
    tests: ['src/engine/calls/overlapping-calls.test.ts'],
  },
];
