/** Changes of meaning in what a fork takes of its ancestors, in what somebody answers meanwhile, and in when things are stored. */
import type { Mutant } from './mutant.ts';

export const takeoverMutants: readonly Mutant[] = [
  {
    name: 'what a visit sees is not sealed before another one changes it',
    file: 'src/engine/visit-records/node-record.ts',
    old: 'if (isSeen) core.loop.seal();',
    new: '',
    tests: ['src/engine/visit-records/seal-views.test.ts'],
  },
  {
    name: 'what a visit sees is sealed only where a checkpoint has a reason of its own',
    file: 'src/engine/run-loop/checkpoints.ts',
    old: '(isSeal || draft.partCount > 0',
    new: '(draft.partCount > 0',
    tests: ['src/engine/visit-records/seal-views.test.ts'],
  },
  {
    name: 'where a policy makes no checkpoint, what is to be stored grows without end',
    file: 'src/engine/settle/settle.ts',
    old: " || ending.status === 'failed' || isLarge)",
    new: " || ending.status === 'failed' || (isLarge && core.nextSeq < 0))",
    tests: ['src/engine/run-loop/checkpoint-policies.test.ts'],
  },
  {
    name: 'what a person says while the world is asked about an effect is not heard',
    file: 'src/engine/effects/judge.ts',
    old: '  const view = doubtViewOf(effort, onInDoubt);',
    new: '  const view: DoubtView = { ...doubtViewOf(effort, onInDoubt), decision: undefined };',
    tests: ['src/engine/effects/answers-meanwhile.test.ts'],
  },
  {
    name: 'a step that is to be tried at once waits for its time, if that was said while it was judged',
    file: 'src/engine/calls/steps.ts',
    old: '    const isOpen = effort.intent !== undefined;',
    new: `    const before = effort.fields();
    const isOpen = before?.intent !== undefined;
    if (isOpen) effort.fields = () => before;`,
    tests: ['src/engine/effects/answers-meanwhile.test.ts'],
  },
  {
    name: 'outcomes recorded side by side are taken in the order in which they are due',
    file: 'src/engine/fork-replay/recorded-outcomes.ts',
    old: 'this.#pending.sort((a, b) => a.recorded.seq - b.recorded.seq || a.recorded.index - b.recorded.index);',
    new: '',
    tests: ['src/engine/fork-replay/recorded-order.test.ts'],
  },
  {
    name: 'outcomes recorded in one checkpoint are taken in the order in which they are due',
    file: 'src/engine/fork-replay/recorded-outcomes.ts',
    old: 'this.#pending.sort((a, b) => a.recorded.seq - b.recorded.seq || a.recorded.index - b.recorded.index);',
    new: 'this.#pending.sort((a, b) => a.recorded.seq - b.recorded.seq);',
    tests: ['src/engine/fork-replay/recorded-order.test.ts'],
  },
  {
    name: 'a fork reuses the failure of a pure node',
    file: 'src/engine/fork-replay/replay.ts',
    old: 'return success ?? (isEffect(due) ? candidates[0] : undefined);',
    new: 'return success ?? candidates[0];',
    tests: ['src/engine/fork-replay/recorded-order.test.ts'],
  },
  {
    name: 'a fork takes a question that nobody answered in time for one that was answered',
    file: 'src/engine/fork-replay/replay.ts',
    old: "if (ended === undefined || (ended.status === 'failed' && !isEffect(due) && !takesFailures)) return undefined;",
    new: 'if (ended === undefined) return undefined;',
    tests: ['src/engine/fork-replay/recorded-order.test.ts'],
  },
  {
    name: 'a child run is taken up for another input than it was begun with',
    file: 'src/engine/calls/child-frame.ts',
    old: 'known.given !== undefined && known.given !== inputHash;',
    new: 'known.given !== undefined && known.given === undefined && known.given !== inputHash;',
    tests: ['src/engine/calls/child-forks.test.ts'],
  },
  {
    name: 'what was done to a child run that runs anew is not done to the new one',
    file: 'src/engine/calls/child-frame.ts',
    old: '  for (const step of calls) deleteStep(core, activation, step);\n',
    new: '  if (calls.length < 0) for (const step of calls) deleteStep(core, activation, step);\n',
    tests: ['src/engine/calls/child-forks.test.ts'],
  },
  {
    name: 'an answer that a function of a fork took from the original cannot be another',
    file: 'src/engine/commands/answered.ts',
    old: "const isAnswer = kind === 'step' && effect === 'human' && step !== undefined;",
    new: "const isAnswer = kind === 'step' && effect === 'human' && step === undefined;",
    tests: ['src/engine/forks/fork-answers.test.ts'],
  },
  {
    name: 'a node of a child run that is asked again sees what was there before the child run',
    file: 'src/engine/forks/fork-patches.ts',
    old: '{ ...seenAt(record, view + 1), view }',
    new: 'seenAt(record, view)',
    tests: ['src/engine/forks/fork-answers.test.ts'],
  },
  {
    name: 'a run that failed for its visits goes one round further with each resume',
    file: 'src/engine/plan/decide-start.ts',
    old: "  if (view.isOverLimit) return { kind: 'overLimit' };\n  const",
    new: '  const',
    tests: ['src/engine/run-loop/attempts.test.ts'],
  },
];
