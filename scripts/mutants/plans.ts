/** Changes of meaning in what may run next. */
import type { Mutant } from './mutant.ts';

export const planMutants: readonly Mutant[] = [
  {
    name: 'no lap begins where an edge leads back to where only an earlier lap has been',
    file: 'src/engine/plan/plan.ts',
    old: 'if (!isBack && this.#lapOf[node] !== this.#lap) return;',
    new: 'if (this.#lapOf[node] !== this.#lap) return;',
    tests: ['src/engine/plan/token-plan.test.ts'],
  },
  {
    name: 'a plan that is built anew does not find the token where a lap began',
    file: 'src/engine/plan/plan.ts',
    old: 'if (head !== undefined && this.#lapOf[head] !== this.#lap) return this.#comeTo(head, false);',
    new: '',
    tests: ['src/engine/plan/token-plan.test.ts'],
  },
  {
    name: 'a round that a patch opened is not on record',
    file: 'src/engine/settle/start-planned.ts',
    old: "if (epoch !== undefined) frame.setField('epoch', [], epoch, String(epoch));",
    new: '',
    tests: ['src/engine/commands/reroute.test.ts'],
  },
  {
    name: 'the failure of a visit beyond its bound leads back',
    file: 'src/engine/plan/route.ts',
    old: '!(isOverBound && edge.leadsBack)',
    new: 'true',
    tests: ['src/engine/plan/route.test.ts'],
  },
  {
    name: 'a join behind an entry waits for what is before it',
    file: 'src/engine/plan/joins.ts',
    old: 'if (backOf === undefined && !this.isBeforeEntry(from)) count += 1;',
    new: 'if (backOf === undefined) count += 1;',
    tests: ['src/engine/calls/child-entry.test.ts'],
  },
  {
    name: 'what is before an entry fires what fires always',
    file: 'src/engine/plan/rounds-plan.ts',
    old: 'const isFiring = !isBeforeEntry && fires(edge);',
    new: 'const isFiring = fires(edge);',
    tests: ['src/engine/plan/entry.test.ts'],
  },
  {
    name: 'a goal is computed of the input that a node was given',
    file: 'src/plans/planned-node.ts',
    old: 'goal({ state: stateOfRun(this.#ctx.state) })',
    new: 'goal({ state: this.#ctx.state })',
    tests: ['src/plans/mission.test.ts'],
  },
  {
    name: 'a flow gives the node that runs it its artifacts',
    file: 'src/graph/runnable-graph.ts',
    old: 'return resultAt(result ?? null, state);',
    new: 'return resultAt(null, state);',
    tests: ['src/nodes/child-results.test.ts', 'test/composition.test.ts'],
  },
  {
    name: 'what makes a guided mission ask is counted over an extension alone',
    file: 'src/plans/planned-node.ts',
    old: 'return count > maxTasks || tasks.some',
    new: 'return tasks.length > maxTasks || tasks.some',
    tests: ['src/plans/bounds.test.ts'],
  },
  {
    name: 'an anchor that comes before a task is not held to it',
    file: 'src/plans/anchors.ts',
    old: '    for (const later of before) mustFollow(later, id);\n',
    new: '',
    tests: ['src/plans/bounds.test.ts'],
  },
  {
    name: 'extensions pass the bound of tasks',
    file: 'src/plans/plan.ts',
    old: 'const total = tasks.length + known.size;',
    new: 'const total = tasks.length;',
    tests: ['src/plans/bounds.test.ts'],
  },
];
