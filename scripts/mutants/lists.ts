/** Changes of meaning in what composed nodes keep beside their steps: lists, and events. */
import type { Mutant } from './mutant.ts';

export const listMutants: readonly Mutant[] = [
  {
    name: 'an append that is repeated is recorded again',
    file: 'src/engine/calls/append.ts',
    old: 'const recorded = callsOf(activation, list)[n - 1];',
    new: 'const recorded = callsOf(activation, list)[n] ?? undefined;',
    tests: ['src/engine/calls/append.test.ts'],
  },
  {
    name: 'appends to one list are recorded in the order in which they are stored',
    file: 'src/engine/calls/append.ts',
    old: '  await before;\n',
    new: '',
    tests: ['src/engine/calls/append.test.ts'],
  },
  {
    name: 'a list shows what later calls added',
    file: 'src/engine/calls/append.ts',
    old: '.slice(0, cursorOf(activation, list).recorded)',
    new: '.slice(0)',
    tests: ['src/engine/calls/append.test.ts'],
  },
  {
    name: 'calls of append after a save count from the first again',
    file: 'src/engine/record/list-record.ts',
    old: 'const before = callsBeforeSave(activation, list);',
    new: 'const before = 0 * callsBeforeSave(activation, list);',
    tests: ['src/engine/calls/append.test.ts'],
  },
  {
    name: 'a function that is repeated tells its recorded events again',
    file: 'src/engine/record/told-events.ts',
    old: 'if (count > entered)',
    new: 'if (count > 0 * entered)',
    tests: ['src/engine/calls/emit.test.ts'],
  },
  {
    name: 'recorded events of an attempt that died are told',
    file: 'src/engine/run/frame-run.ts',
    old: '    this.events = undefined;\n',
    new: '',
    tests: ['src/engine/calls/emit.test.ts'],
  },
  {
    name: 'recorded events do not enter with the intent of the step that follows',
    file: 'src/engine/effects/step-attempt.ts',
    old: '  enterEvents(core, activation);\n',
    new: '',
    tests: ['src/engine/calls/emit.test.ts'],
  },
  {
    name: 'the recorded events of a failed attempt are lost',
    file: 'src/engine/drive/attempt.ts',
    old: '  noteEvents(core, activation);\n',
    new: '',
    tests: ['src/engine/calls/emit.test.ts'],
  },
  {
    name: 'after a save events count from the first again',
    file: 'src/engine/calls/wait-calls.ts',
    old: '  keepEvents(core, activation);\n',
    new: '',
    tests: ['src/engine/calls/emit.test.ts'],
  },
];
