/** Asks the question about a spent budget: whether to raise it, and by how much (Q5). */
import type { WaitRecord } from '../../state/tree.ts';
import { openRecord } from '../visit-records/node-record.ts';
import { budgetName, type MetBudget } from '../visit-records/budget.ts';
import { visitOf } from '../visit-records/visit-part.ts';
import type { Activation } from '../live-run/loop.ts';
import type { RunCore } from '../live-run/run-core.ts';
import { showWait } from './open-wait.ts';
import { waitIdOf } from './wait.ts';

/** Asks the question, unless it is open already. Everything that meets the budget meanwhile waits for the same answer. */
export function askForBudget(core: RunCore, activation: Activation, stepKey: string | undefined, met: MetBudget): void {
  const { of, unit } = met;
  const place = of.join('\0');
  const open = Object.entries(core.root.waits).find(
    ([, { budget }]) => budget?.unit === unit && budget.of.join('\0') === place,
  );
  if (open !== undefined) return showWait(core, activation, ...open);
  keepVisit(activation, of);
  // The same budget may be spent again, so each question gets an id of its own.
  const waitId = waitIdOf(core.runId, [...of, unit], `budget:${core.nextSeq}`);
  showWait(core, activation, waitId, questionOf(activation, stepKey, met));
}

/** Creates the visit's record, because an answer about a visit's budget is written to it. */
function keepVisit(activation: Activation, of: readonly string[]): void {
  const { frameRun, node, path } = activation;
  if (of.length !== path.length || frameRun.openRecordOf(node) !== undefined) return;
  const record = openRecord(activation);
  frameRun.frame.setNode(node.id, record, JSON.stringify(record));
}

const answers = {
  anyOf: [{ type: 'number', exclusiveMinimum: 0, maximum: Number.MAX_SAFE_INTEGER }, { enum: ['stop', 'fail'] }],
};

function questionOf(activation: Activation, stepKey: string | undefined, met: MetBudget): WaitRecord {
  const { of, unit, budget, spent, atMost } = met;
  const next = [...activation.path, ...(stepKey === undefined ? [] : [stepKey])].join('/');
  const needs = atMost === undefined ? '' : `, which spends up to ${atMost}`;
  const name = budgetName(of);
  const { visit, outer } = visitOf(activation);
  return {
    kind: 'question',
    node: activation.path,
    name: 'budget',
    prompt:
      `${name[0]?.toUpperCase()}${name.slice(1)} has spent ${spent} of its budget of ${budget} ${unit}; next is ${next}${needs}. ` +
      `How many ${unit} more? (a number; stop: the run fails, and can be resumed; fail: what meets the budget fails)`,
    schema: answers,
    metadata: { unit, spent, budget, next, ...(atMost === undefined ? {} : { atMost }) },
    budget: {
      of,
      unit,
      limit: budget,
      spent,
      ...(visit !== undefined && { visit }),
      ...(outer !== undefined && { outer }),
    },
  };
}
