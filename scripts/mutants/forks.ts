/** Changes of meaning in what a fork takes over, in previews, and in what effects leave behind. */
import type { Mutant } from './mutant.ts';

export const forksMutants: readonly Mutant[] = [
  {
    name: 'outputs of steps stand in the order in which they ended',
    file: 'src/engine/run/frame-run.ts',
    old: 'return isSame ? true : called;',
    new: 'return isSame || called.length > 0 ? true : called;',
    tests: ['src/engine/runs/fork-records.test.ts', 'src/nodes/map-node.test.ts'],
  },
  {
    name: 'an outcome that is kept for a resume forgets that its output is that of its steps',
    file: 'src/engine/admit/admit-kept.ts',
    old: '...(kept.outputOfSteps === undefined ? {} : { outputOfSteps: kept.outputOfSteps }),',
    new: '',
    tests: ['src/engine/runs/fork-records.test.ts'],
  },
  {
    name: 'a skip hides the outputs of the steps of the visit before',
    file: 'src/engine/drive/prepare.ts',
    old: ' && left?.outputOfSteps === undefined',
    new: '',
    tests: ['src/engine/runs/fork-records.test.ts'],
  },
  {
    name: 'calls from before a save count among those after it',
    file: 'src/engine/run/frame-run.ts',
    old: '    this.calls = undefined;\n    this.order = undefined;\n',
    new: '    this.order = undefined;\n',
    tests: ['src/engine/runs/fork-records.test.ts'],
  },
  {
    name: 'a preview says that a question is asked whose answer is on record',
    file: 'src/engine/runs/preview.ts',
    old: '(isAsked(record) ?? replay?.hasAnswer(activation) !== true)',
    new: '(isAsked(record) ?? true)',
    tests: ['test/preview/preview.test.ts'],
  },
  {
    name: 'a preview keeps what has begun waiting for room',
    file: 'src/engine/runs/preview.ts',
    old: 'return !isEffect(node) && frameRun.openRecordOf(node) !== undefined;',
    new: 'return !isEffect(node) && frameRun.openRecordOf(node) === undefined && start.visit < 0;',
    tests: ['test/preview/preview.test.ts'],
  },
  {
    name: 'a preview keeps the place of what is tried again later',
    file: 'src/engine/runs/preview.ts',
    old: '    this.core.agenda.setBusy(activation, false);\n',
    new: '',
    tests: ['src/engine/runs/previews.test.ts'],
  },
  {
    name: 'a preview does not see that a patch came after what an activation saw',
    file: 'src/engine/runs/preview.ts',
    old: 'return previewResume(env, row, fork, graph, {}, isPatched);',
    new: 'return previewResume(env, row, { ...fork, state: openDraft(fork.loaded.root) }, graph, {}, isPatched);',
    tests: ['test/preview/preview.test.ts', 'test/preview/workflows.test.ts'],
  },
  {
    name: 'a preview of a resume forgets what its options say',
    file: 'src/engine/runs/preview.ts',
    old: 'if (!isLeft) await openState(env, run, draft, graph, options);',
    new: 'if (!isLeft) await openState(env, run, draft, graph, {});',
    tests: ['test/yaml/ended-commands.test.ts'],
  },
  {
    name: '`first` routing fires every target that an outcome names',
    file: 'src/engine/plan/route.ts',
    old: '?? []).slice(0, 1);',
    new: '?? []);',
    tests: ['src/engine/plan/route.test.ts'],
  },
  {
    name: 'histories whose run is gone are passed over',
    file: 'src/stores/sqlite/file-damage.ts',
    old: ', ...findLostRuns(db)];',
    new: ', ...findLostRuns(db).slice(0, 0)];',
    tests: ['test/bad-input/damaged-rows.test.ts'],
  },
];
