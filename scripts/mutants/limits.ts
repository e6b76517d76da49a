/** Changes of meaning in limits over all workers. */
import type { Mutant } from './mutant.ts';

const places = 'src/engine/places';
const ofRuns = [`${places}/run-places.test.ts`];
const ofSteps = [`${places}/step-places.test.ts`];

export const limitsMutants: readonly Mutant[] = [
  {
    name: 'a claim whose lease has run out is passed over and not revoked',
    file: 'src/stores/limit-tables.ts',
    old: '      this.#tables.releaseClaim({ tenant, runId, token, workerId: run.owner, leaseMs: 0 });\n',
    new: '',
    tests: ['src/stores/memory/memory-store.test.ts'],
  },
  {
    name: 'the same in SQLite, among random workers',
    file: 'src/stores/sqlite/tables/limit-rows.ts',
    old: "      commits.release({ ...key, workerId: '', token, leaseMs: 0 });\n",
    new: '',
    tests: [`${places}/places-random.test.ts`],
  },
  {
    name: 'who gives a place back forgets the rest of the line',
    file: `${places}/run-places.ts`,
    old: 'isLined: first.length === room',
    new: 'isLined: false',
    tests: ofRuns,
  },
  {
    name: 'the line is not looked at by who comes anew',
    file: `${places}/run-places.ts`,
    old: 'if (isReserved || !state.isLined) return',
    new: 'if (isReserved || state.isLined) return',
    tests: ofRuns,
  },
  {
    name: 'all of one group go before another',
    file: `${places}/run-places.ts`,
    old: 'Math.max(state?.rank ?? 0, lastRank) + 1',
    new: '1',
    tests: ofRuns,
  },
  {
    name: 'a run that counts until it ends gives its place back when it rests',
    file: `${places}/run-places.ts`,
    old: "if (limit.counts === 'open' && !isOver) continue;",
    new: '',
    tests: ofRuns,
  },
  {
    name: 'a rate lets any number begin at once',
    file: `${places}/place-state.ts`,
    old: 'return due > now ? due : 0;',
    new: 'return due > Infinity ? due : 0;',
    tests: ofSteps,
  },
  {
    name: 'a node waits for its place after it was announced',
    file: 'src/engine/effects/begin.ts',
    old: 'if (node.limit === undefined) beginNow(core, activation);',
    new: 'if (node.limit !== undefined) beginNow(core, activation);',
    tests: ofSteps,
  },
  {
    name: 'an experiment takes all places',
    file: `${places}/step-places.ts`,
    old: 'if (isOfExperiment(runId) && roomForExperiments(limit, state) <= 0) return false;',
    new: '',
    tests: ofSteps,
  },
  {
    name: 'an experiment waits in line with all others',
    file: `${places}/place-state.ts`,
    old: 'return isOfExperiment(own.runId);',
    new: 'return !isOfExperiment(own.runId);',
    tests: ofSteps,
  },
  {
    name: 'a run that only waits for places keeps its slot',
    file: 'src/engine/worker.ts',
    old: 'concurrency - this.#running.size + awaiting',
    new: 'concurrency - this.#running.size',
    tests: ofSteps,
  },
  {
    name: 'a node waits for a run that waits for its own place',
    file: 'src/engine/commands/limited-runs.ts',
    old: 'if (parent === undefined || !places.isUnder(parent, queued.key)) return true;',
    new: 'if (parent !== undefined || !places.isUnder(run, queued.key)) return true;',
    tests: ofRuns,
  },
  {
    name: 'a step that failed keeps its place until it is tried again',
    file: 'src/engine/calls/steps.ts',
    old: '      } catch (thrown) {\n        permit?.leave(usedTokens(charge));\n',
    new: '      } catch (thrown) {\n',
    tests: ofSteps,
  },
  {
    name: 'a call of an agent waits for no place',
    file: 'src/agents/model/model-step.ts',
    old: 'limit === undefined || isReplayed ? {}',
    new: 'limit !== undefined || isReplayed ? {}',
    tests: ['test/agents/limits.test.ts'],
  },
  {
    name: 'a call takes a second place of a limit that its step has',
    file: 'src/engine/effects/enter-places.ts',
    old: 'if (around !== undefined && limitsNamed(around).includes(limit))',
    new: 'if (around === undefined && limit === undefined)',
    tests: ['test/agents/limits.test.ts'],
  },
  {
    name: 'who defines a limit otherwise logs no warning',
    file: `${places}/limit-records.ts`,
    old: 'isOther = entry !== undefined && next !== undefined;',
    new: 'isOther = entry === undefined && next === undefined;',
    tests: ofSteps,
  },
  {
    name: 'models of a program keep no limit of their provider',
    file: 'src/model-calls/model-access.ts',
    old: 'if (place === undefined) return call(enter);',
    new: 'if (place === undefined || enter !== undefined) return call(enter);',
    tests: [`${places}/provider-places.test.ts`],
  },
  {
    name: 'places of steps whose worker was killed are kept for it',
    file: 'src/engine/places/step-places.ts',
    old: 'if (waiting.length > 0 && dueAt === 0 && view.isFresh)',
    new: 'if (waiting.length < 0 && dueAt === 0 && view.isFresh)',
    tests: ['src/engine/places/limited-fleet.test.ts'],
  },
];
