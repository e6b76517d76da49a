/** Changes of meaning in pipelines: which way they go, what passes a gate, and what is bounded. */
import type { Mutant } from './mutant.ts';

export const dotMutants: readonly Mutant[] = [
  {
    name: 'a failure takes any edge without a condition',
    file: 'src/dialects/dot/run/stage/choose-edge.ts',
    old: 'isElse ? open : open.filter(({ takesFailures }) => takesFailures)',
    new: 'open',
    tests: ['src/dialects/dot/run/runs.test.ts'],
  },
  {
    name: 'a status file from before the attempt is taken for its own',
    file: 'src/dialects/dot/run/handlers/status-file.ts',
    old: 'if (now === before)',
    new: 'if (now === undefined)',
    tests: ['src/dialects/dot/run/handlers/commands.test.ts'],
  },
  {
    name: 'after a crash branches count in the order of the file',
    file: 'src/dialects/dot/run/handlers/parallel.ts',
    old: 'isOrdered: true',
    new: 'isOrdered: false',
    tests: ['src/dialects/dot/run/handlers/branches.test.ts'],
  },
  {
    name: 'a branch begins without the conversation that was there',
    file: 'src/dialects/dot/run/handlers/parallel.ts',
    old: '    ...inheritedTurns(ctx.state),\n',
    new: '',
    tests: ['src/dialects/dot/run/prompt/conversation.test.ts'],
  },
  {
    name: 'an answer without a verdict passes a goal gate',
    file: 'src/dialects/dot/run/handlers/codergen.ts',
    old: "if (!attributes.flag('goal_gate')) return",
    new: 'return',
    tests: ['src/dialects/dot/run/stages.test.ts'],
  },
  {
    name: 'jumps to retry targets are not bounded',
    file: 'src/dialects/dot/run/stage/stage-node.ts',
    old: 'jumpsMade(state, stage.id, target) < jumpsMax',
    new: 'jumpsMade(state, stage.id, target) < Infinity',
    tests: ['src/dialects/dot/run/runs.test.ts'],
  },
  {
    name: 'a pipeline is restarted once more than it may be',
    file: 'src/dialects/dot/run/handlers/restarts.ts',
    old: 'if (count > restartsMax)',
    new: 'if (count > restartsMax + 1)',
    tests: ['src/dialects/dot/run/handlers/restarts.test.ts'],
  },
  {
    name: 'a stage that has begun is told as one that the run is still to go to',
    file: 'src/dialects/dot/view/pipeline-view.ts',
    old: 'return record !== undefined && record.fired === undefined;',
    new: 'return record !== undefined && record.fired !== undefined;',
    tests: ['test/trace/pipeline-view.test.ts'],
  },
  {
    name: 'whatever a handler returns is an outcome',
    file: 'src/dialects/dot/run/stage/stage-outcome.ts',
    old: 'if (isStatus(given.status)) return given;',
    new: 'return given;',
    tests: ['test/dot/bad-input.test.ts'],
  },
  {
    name: 'an answer that an edited pipeline offers no more counts as none',
    file: 'src/dialects/dot/run/handlers/human.ts',
    old: 'return chosen && chosenOutcome(chosen);',
    new: "return chosen === undefined ? { status: 'success' } : chosenOutcome(chosen);",
    tests: ['test/dot/bad-input.test.ts'],
  },
  {
    name: 'branches that no run came to count as covered',
    file: 'src/dialects/dot/simulate/coverage.ts',
    old: 'if (to === branches?.join || ended.has(to))',
    new: 'if (to !== branches?.join)',
    tests: ['src/app/simulate/simulate-pipeline.test.ts'],
  },
];
