/** The operation `experiments`: what experiments found, and of one the pairs that came to a verdict, or to another one than before. */
import { CairnError } from '../../errors.ts';
import { nearest } from '../../graph/nearest.ts';
import { verdicts } from '../../experiments/judge-item.ts';
import { readAllRuns } from '../../history/access/read-all.ts';
import { loadState } from '../../history/load/load.ts';
import { derivedRunId, experimentGraphId, isMadeByExperiment } from '../../history/stored/run-ids.ts';
import type { RunRow } from '../../ports/store.ts';
import { amounts, described, listOf, objectOf, text, texts, time, whole } from '../contract/output-shapes.ts';
import type { HistoryContext, RoutedOperation } from '../contract/operation.ts';

export interface ReadExperimentsInput {
  readonly name?: string;
  readonly with?: string;
  readonly verdict?: readonly string[];
  readonly order?: string;
  readonly limit?: number;
}

const limitDefault = 50;

type Counts = Readonly<Record<string, number>>;

/** An arm of an experiment. */
interface ShownArm {
  readonly arm: string;
  readonly verdicts: Counts;
  /** What it says by each scorer: `exact: improved`. */
  readonly findings: readonly string[];
  readonly spent: Counts;
}

/** An experiment, as far as it has come. */
export interface ShownExperiment {
  readonly name: string;
  readonly runId: string;
  readonly status: string;
  readonly createdAt: number;
  readonly items: number;
  readonly baseline: Counts;
  readonly arms: readonly ShownArm[];
}

/** What became of an item under an arm. */
export interface ShownPair {
  readonly item: string;
  readonly arm: string;
  readonly verdict: string;
  /** The run to look at. */
  readonly fork: string;
  readonly spent: Counts;
  readonly because?: readonly string[];
}

/** A pair of two experiments, with the verdict of each. */
export interface ChangedPair {
  readonly item: string;
  readonly arm: string;
  readonly before: string;
  readonly after: string;
}

export interface ReadExperimentsOutput {
  readonly experiments: readonly ShownExperiment[];
  /** Of the one that was named. */
  readonly pairs: readonly ShownPair[];
  /** Pairs that the other experiment has too, with another verdict there. */
  readonly changes?: readonly ChangedPair[];
}

/** What the run of an experiment gives: see `ExperimentResult` of the library. */
interface Found {
  readonly baseline: Counts;
  readonly arms: Readonly<
    Record<
      string,
      {
        readonly verdicts: Counts;
        readonly spent: Counts;
        readonly findings: readonly { readonly scorer: string; readonly conclusion: string }[];
      }
    >
  >;
  readonly rows: readonly {
    readonly item: string;
    readonly arms: Readonly<
      Record<
        string,
        readonly {
          readonly fork: string;
          readonly verdict: string;
          readonly spent: Counts;
          readonly because?: readonly string[];
        }[]
      >
    >;
  }[];
}

const nameOf = (runId: string): string => runId.slice(derivedRunId('experiment', '').length);

async function read(
  { store, blobs }: HistoryContext,
  run: RunRow,
): Promise<{ readonly experiment: ShownExperiment; readonly found: Found | undefined }> {
  const { frame } = (await loadState(store, blobs, run)).root;
  const { items } = frame.input as { readonly items: readonly string[] };
  const found = (frame.nodes['review']?.output ?? frame.nodes['compare']?.output) as Found | undefined;
  const experiment: ShownExperiment = {
    name: nameOf(run.runId),
    runId: run.runId,
    status: run.status,
    createdAt: run.createdAt,
    items: items.length,
    baseline: found?.baseline ?? {},
    arms: Object.entries(found?.arms ?? {}).map(([arm, { verdicts, findings, spent }]) => ({
      arm,
      verdicts,
      findings: findings.map(({ scorer, conclusion }) => `${scorer}: ${conclusion}`),
      spent,
    })),
  };
  return { experiment, found };
}

function allPairs(found: Found | undefined): readonly ShownPair[] {
  return (found?.rows ?? []).flatMap(({ item, arms }) =>
    Object.entries(arms).flatMap(([arm, own]) =>
      own.map(({ fork, verdict, spent, because }) => ({
        item,
        arm,
        verdict,
        fork,
        spent,
        ...(because && { because }),
      })),
    ),
  );
}

/** @param wanted - verdicts; default: all but equal ones */
function pairsOf(
  found: Found | undefined,
  { verdict: wanted, order = 'item', limit = limitDefault }: ReadExperimentsInput,
): readonly ShownPair[] {
  const pairs = allPairs(found).filter(({ verdict }) => wanted?.includes(verdict) ?? verdict !== 'equal');
  const compare = orders[order];
  return (compare === undefined ? pairs : pairs.toSorted(compare)).slice(0, limit);
}

/** Orders of pairs; pairs that are alike in it stay as the items are. */
const orders: Readonly<Record<string, (a: ShownPair, b: ShownPair) => number>> = {
  cost: (a, b) => priceOf(b) - priceOf(a),
  verdict: (a, b) => placeOf(a) - placeOf(b),
};

const placeOf = ({ verdict }: ShownPair): number => (verdicts as readonly string[]).indexOf(verdict);

/** What a pair cost: money where it is known, else tokens. */
function priceOf({ spent }: ShownPair): number {
  const { usd, cost, inputTokens = 0, outputTokens = 0 } = spent;
  return usd ?? cost ?? inputTokens + outputTokens;
}

/** Pairs of the same item, arm and repeat that came to another verdict. */
function changesOf(before: Found | undefined, after: Found | undefined, limit: number): readonly ChangedPair[] {
  const counted = (found: Found | undefined): ReadonlyMap<string, ShownPair> => {
    const repeats = new Map<string, number>();
    return new Map(
      allPairs(found).map((pair) => {
        const key = `${pair.arm} ${pair.item}`;
        const repeat = repeats.get(key) ?? 0;
        repeats.set(key, repeat + 1);
        return [`${key} ${repeat}`, pair];
      }),
    );
  };
  const others = counted(before);
  const changes = [...counted(after)].flatMap(([key, { item, arm, verdict }]) => {
    const other = others.get(key)?.verdict;
    return other === undefined || other === verdict ? [] : [{ item, arm, before: other, after: verdict }];
  });
  return changes.slice(0, limit);
}

const counts = (of: string): ReturnType<typeof described> => described(amounts, of);

export const readExperiments: RoutedOperation<ReadExperimentsInput, ReadExperimentsOutput, HistoryContext> = {
  name: 'read_experiments',
  summary: 'list experiments and what they found; of one also its pairs, equal ones left out',
  input: {
    name: { type: 'text', description: 'only this experiment', isPositional: true },
    with: { type: 'text', description: 'an earlier experiment: which pairs came to another verdict since' },
    verdict: {
      type: 'texts',
      description: 'only pairs with this verdict',
      choices: verdicts,
    },
    order: {
      type: 'text',
      description: 'of pairs: as the items are, the dearest first, or those of a verdict together',
      choices: ['item', 'cost', 'verdict'],
      default: 'item',
    },
    limit: { type: 'integer', description: 'at most so many pairs', default: limitDefault, min: 1, max: 1_000 },
  },
  output: 'the experiments, and pairs of the one that was named',
  outputSchema: objectOf(
    {
      experiments: described(
        listOf(
          objectOf({
            name: text,
            runId: text,
            status: text,
            createdAt: time,
            items: described(whole, 'how many runs it compares'),
            baseline: counts('items by what became of them under the baseline'),
            arms: described(
              listOf(
                objectOf({
                  arm: described(text, 'its name'),
                  verdicts: counts('pairs by verdict'),
                  findings: described(texts, 'what it says by each scorer'),
                  spent: amounts,
                }),
              ),
              'what was changed, each with what became of the items',
            ),
          }),
        ),
        'the experiments, newest first',
      ),
      pairs: described(
        listOf(
          objectOf(
            {
              item: described(text, 'id of the recorded run'),
              arm: described(text, 'the name of the arm'),
              verdict: described(text, 'what became of the item'),
              fork: described(text, 'id of the run to look at'),
              spent: amounts,
            },
            {
              because: described(
                texts,
                'what it would have done, asked or read, why it failed, or where its output differs first',
              ),
            },
          ),
        ),
        'items of the one that was named, by arm',
      ),
    },
    {
      changes: described(
        listOf(
          objectOf({
            item: described(text, 'id of the recorded run'),
            arm: described(text, 'the name of the arm'),
            before: described(text, 'its verdict in the earlier experiment'),
            after: described(text, 'its verdict in this one'),
          }),
        ),
        'pairs that came to another verdict in the earlier experiment',
      ),
    },
  ),
  isReadOnly: true,
  scope: 'read',
  route: 'GET /experiments',
  tool: {},
  /** @throws RUN_NOT_FOUND */
  async run(context, input) {
    const { name, with: earlier, limit = limitDefault } = input;
    if (name !== undefined) {
      const { experiment, found } = await readNamed(context, name);
      const before = earlier === undefined ? undefined : await readNamed(context, earlier);
      return {
        experiments: [experiment],
        pairs: pairsOf(found, input),
        ...(before && { changes: changesOf(before.found, found, limit) }),
      };
    }
    const experiments: ShownExperiment[] = [];
    for await (const run of readAllRuns(context, { graphId: experimentGraphId }))
      if (!isMadeByExperiment(run.runId)) experiments.push((await read(context, run)).experiment);
    return { experiments, pairs: [] };
  },
};

async function readNamed(context: HistoryContext, name: string): ReturnType<typeof read> {
  const runId = derivedRunId('experiment', name);
  const run = await context.store.readRun({ tenant: context.tenant, runId });
  if (run === undefined) throw new CairnError('RUN_NOT_FOUND', { runId, hint: await namesHint(context, name) });
  return read(context, run);
}

/** Which experiments there are. */
async function namesHint(context: HistoryContext, name: string): Promise<string> {
  const names: string[] = [];
  for await (const run of readAllRuns(context, { graphId: experimentGraphId }))
    if (!isMadeByExperiment(run.runId)) names.push(nameOf(run.runId));
  if (names.length === 0) return 'There is no experiment.';
  const guess = nearest(name, names);
  const some = names.slice(0, 20).join(', ');
  return `${guess === undefined ? '' : `Did you mean ${guess}? `}There are: ${some}${names.length > 20 ? ', …' : ''}.`;
}
