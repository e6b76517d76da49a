/** Changes of meaning in what work costs. */
import type { Mutant } from './mutant.ts';

export const costMutants: readonly Mutant[] = [
  {
    name: 'an attempt of a node that is tried again costs nothing',
    file: 'src/engine/drive/attempt.ts',
    old: '  bookAll(core, activation);\n  planRetry(',
    new: '  planRetry(',
    tests: ['src/engine/calls/spend.test.ts'],
  },
  {
    name: 'a fork pays again for what it takes over',
    file: 'src/engine/record/account.ts',
    old: "addToVisit(core, activation, 'spared', spared);",
    new: "addToVisit(core, activation, 'spent', spared);",
    tests: ['src/engine/calls/spend.test.ts'],
  },
  {
    name: 'a failed attempt of a step costs nothing',
    file: 'src/engine/calls/steps.ts',
    old: '        book(core, charge);\n        if',
    new: '        core.ledger.close(charge);\n        if',
    tests: ['src/engine/calls/spend.test.ts'],
  },
  {
    name: 'a bound is not reserved',
    file: 'src/engine/calls/steps.ts',
    old: 'if (charge.atMost !== undefined) core.ledger.open(charge);',
    new: '',
    tests: ['src/engine/effects/budgets.test.ts'],
  },
  {
    name: 'each step that meets a budget asks for itself',
    file: 'src/engine/waits/budget-wait.ts',
    old: 'if (open !== undefined) return showWait(core, activation, ...open);',
    new: '',
    tests: ['src/engine/effects/budgets.test.ts'],
  },
  {
    name: 'a raised budget is not kept',
    file: 'src/engine/record/budget.ts',
    old: "writer.set([...at, 'budget'], { ...budget, ...limits });",
    new: '',
    tests: ['src/engine/effects/budgets.test.ts'],
  },
  {
    name: 'a budget that is reached lets one more begin',
    file: 'src/engine/plan/decide-budget.ts',
    old: "return spent < budget ? 'begin' : 'over';",
    new: "return spent <= budget ? 'begin' : 'over';",
    tests: ['src/engine/effects/budgets.test.ts'],
  },
  {
    name: 'what only has to wait for others is asked about',
    file: 'src/engine/plan/decide-budget.ts',
    old: "return reserved > 0 && spent + atMost <= budget ? 'wait' : 'over';",
    new: "return 'over';",
    tests: ['src/engine/effects/budgets.test.ts'],
  },
  {
    name: 'an attempt that a budget fails is tried again',
    file: 'src/engine/effects/after-failure.ts',
    old: "if (facts.code === 'BUDGET_EXCEEDED') return { kind: 'fail' };",
    new: '',
    tests: ['src/engine/effects/budgets.test.ts'],
  },
  {
    name: 'a resumed run is not asked again about a budget for which it failed',
    file: 'src/engine/runs/open-state.ts',
    old: 'askAgain(draft, { of: [], frame: draft.root.frame });',
    new: '',
    tests: ['src/engine/effects/budgets.test.ts'],
  },
  {
    name: 'a completed run keeps questions about budgets open',
    file: 'src/engine/drive/runner.ts',
    old: "if (status === 'completed') for (const waitId of Object.keys(root.waits)) draft.closeWait(waitId);",
    new: '',
    tests: ['src/engine/effects/budgets.test.ts'],
  },
  {
    name: 'a call of a model costs nothing',
    file: 'src/ports/model-access.ts',
    old: 'attempt.spend(costsOf(response));',
    new: '',
    tests: ['src/engine/calls/models.test.ts'],
  },
];
