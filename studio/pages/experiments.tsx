/** Experiments: what would have happened to recorded runs under a change. One of them is a table of its pairs, by verdict and by cost. */
import type { JSX } from 'preact';
import { encode } from '../data/api.ts';
import { useLoaded } from '../data/query.ts';
import type { ExperimentsAnswer, ShownExperiment, ShownPair } from '../data/types.ts';
import { Awaited, Copy, Empty, RunName, Trouble, When } from '../parts/common.tsx';
import { Mark } from '../parts/icons.tsx';
import { Table } from '../parts/table.tsx';
import { VirtualList } from '../parts/virtual-list.tsx';
import { goTo, linkTo, linkToRun, linkWith, readParam } from '../url.ts';
import { command, cost, costShort, count, countOf, toneOfStatus, type Tone } from '../words.ts';

const everyMs = 5_000;
/** Pairs that are shown at most. */
const pairsMax = 1_000;

const tones: Readonly<Record<string, Tone>> = {
  equal: 'completed',
  improved: 'completed',
  regressed: 'failed',
  failed: 'failed',
  different: 'waiting',
  'would act': 'doubt',
  'would read': 'queued',
  'would ask': 'waiting',
  'not reproduced': 'stopped',
  'not run': 'skipped',
};

export function ExperimentsPage(): JSX.Element {
  const name = readParam('name');
  return name === undefined ? <List /> : <Experiment key={name} name={name} />;
}

function List(): JSX.Element {
  const { data, problem, reload } = useLoaded<ExperimentsAnswer>('/experiments', { everyMs });
  const all = data?.experiments ?? [];
  return (
    <div class="page">
      <header class="page-head">
        <h1>Experiments</h1>
        <span class="quiet small" role="status">
          {data !== undefined && count(all.length)}
        </span>
      </header>
      {problem !== undefined && problem.status !== 0 && <Trouble problem={problem} onRetry={reload} />}
      {data === undefined && problem === undefined && <Awaited lines={5} />}
      {data !== undefined && all.length === 0 && (
        <Empty title="No experiment yet">
          <p>
            An experiment says what would have happened to recorded runs under another prompt, model, answer or code.
            Nothing acts: effects come from the record, and models are asked.
          </p>
          <Copy text={command('experiment', 'run', 'experiment.yaml')} />
          <p>Or try a change on one run: its page has a button for that.</p>
        </Empty>
      )}
      <div class="stack">
        {all.map((one) => (
          <section class="card" aria-label={`Experiment ${one.name}`} key={one.name}>
            <div class="body stack">
              <Facts experiment={one} isLinked />
              <Arms experiment={one} />
            </div>
          </section>
        ))}
      </div>
    </div>
  );
}

interface OneProps {
  readonly experiment: ShownExperiment;
}

function Facts({ experiment, isLinked = false }: OneProps & { readonly isLinked?: boolean }): JSX.Element {
  const { name, status, items, createdAt, runId } = experiment;
  const tone = toneOfStatus(status);
  return (
    <div class="row wrap small" data-tone={tone}>
      <Mark tone={tone} />
      {isLinked && (
        <h2>
          <a class="linked foreign" href={linkTo('experiments', { name })}>
            {name}
          </a>
        </h2>
      )}
      <span class="toned">{status === 'paused' ? 'waits for reviews' : status}</span>
      <span class="quiet">{countOf(items, 'item')}</span>
      <span class="quiet">
        <When at={createdAt} />
      </span>
      <a class="linked push" href={linkToRun(runId)}>
        its own run
      </a>
    </div>
  );
}

function Arms({ experiment: { arms } }: OneProps): JSX.Element | null {
  if (arms.length === 0) return null;
  return (
    <Table
      title="Arms"
      rows={arms}
      columns={[
        { title: 'Arm', isHead: true, cell: ({ arm }) => <span class="foreign">{arm}</span> },
        {
          title: 'Pairs',
          cell: ({ verdicts }) => (
            <span class="row wrap">
              {Object.entries(verdicts)
                .filter(([, times]) => times > 0)
                .map(([verdict, times]) => (
                  <span class="badge" data-tone={tones[verdict]}>{`${verdict} ${count(times)}`}</span>
                ))}
            </span>
          ),
        },
        { title: 'Findings', cell: ({ findings }) => <span class="foreign">{findings.join(', ')}</span> },
        { title: 'Spent', cell: ({ spent }) => cost(spent) ?? '' },
      ]}
    />
  );
}

/** How many pairs of all arms came to each verdict. */
function countsOf({ arms }: ShownExperiment): ReadonlyMap<string, number> {
  const all = new Map<string, number>();
  for (const { verdicts } of arms)
    for (const [verdict, times] of Object.entries(verdicts))
      if (times > 0) all.set(verdict, (all.get(verdict) ?? 0) + times);
  return all;
}

function Experiment({ name }: { readonly name: string }): JSX.Element {
  const chosen = readParam('verdict')?.split(',').filter(Boolean) ?? [];
  const arm = readParam('arm');
  const order = readParam('order') ?? 'cost';
  const wanted = [...(chosen.length > 0 ? chosen : Object.keys(tones))].map((one) => `&verdict=${encode(one)}`);
  const path = `/experiments?name=${encode(name)}&limit=${pairsMax}&order=${encode(order)}${wanted.join('')}`;
  const { data, problem, reload } = useLoaded<ExperimentsAnswer>(path, { everyMs, keepsOld: true });
  const experiment = data?.experiments[0];
  const pairs = data?.pairs.filter((pair) => arm === undefined || pair.arm === arm) ?? [];
  return (
    <div class="page">
      <header class="page-head">
        <a class="quiet small" href={linkTo('experiments')}>
          Experiments
        </a>
        <span class="quiet small" aria-hidden="true">
          /
        </span>
        <h1 class="foreign">{name}</h1>
      </header>
      {problem !== undefined && problem.status !== 0 && <Trouble problem={problem} onRetry={reload} />}
      {experiment === undefined ? (
        problem === undefined && <Awaited lines={6} />
      ) : (
        <div class="stack">
          <section class="card" aria-label="What it found">
            <div class="body stack">
              <Facts experiment={experiment} />
              <Arms experiment={experiment} />
            </div>
          </section>
          <div class="chips" role="group" aria-label="Verdicts">
            {[...countsOf(experiment)].map(([verdict, times]) => (
              <a
                class="chip"
                role="button"
                aria-pressed={chosen.includes(verdict)}
                data-tone={tones[verdict]}
                href={linkWith({ verdict: toggled(chosen, verdict) })}
              >
                <Mark tone={tones[verdict] ?? 'idle'} size={14} />
                {`${verdict} ${count(times)}`}
              </a>
            ))}
          </div>
          <div class="filters">
            <select
              class="field"
              aria-label="Arm"
              value={arm ?? ''}
              onChange={({ currentTarget }) => goTo(linkWith({ arm: currentTarget.value || undefined }))}
            >
              <option value="">any arm</option>
              {experiment.arms.map((one) => (
                <option value={one.arm}>{one.arm}</option>
              ))}
            </select>
            <nav class="choice" aria-label="Order">
              {(['cost', 'item'] as const).map((one) => (
                <a
                  href={linkWith({ order: one === 'cost' ? undefined : one })}
                  aria-current={order === one ? 'true' : undefined}
                >
                  {one === 'cost' ? 'dearest first' : 'by item'}
                </a>
              ))}
            </nav>
            <span class="quiet small push" role="status">
              {countOf(pairs.length, 'pair')}
            </span>
          </div>
          <Pairs pairs={pairs} />
        </div>
      )}
    </div>
  );
}

function toggled(chosen: readonly string[], verdict: string): string | undefined {
  const next = chosen.includes(verdict) ? chosen.filter((one) => one !== verdict) : [...chosen, verdict];
  return next.join(',') || undefined;
}

/** A pair on one line; it leads to the recorded run beside the fork, with what differs and both graphs. */
function Pairs({ pairs }: { readonly pairs: readonly ShownPair[] }): JSX.Element {
  if (pairs.length === 0)
    return (
      <Empty title="No pair is of this kind">
        <a class="button" href={linkWith({ verdict: undefined, arm: undefined })}>
          Show all
        </a>
      </Empty>
    );
  return (
    <VirtualList items={pairs} keyOf={({ fork }) => fork} rowPx={40} label="Pairs">
      {({ item, arm, verdict, fork, spent, because = [] }) => (
        <a
          class="pair-row"
          data-tone={tones[verdict]}
          href={verdict === 'not run' ? linkToRun(item) : linkTo('compare', { a: item, b: fork })}
        >
          <Mark tone={tones[verdict] ?? 'idle'} size={14} />
          <span class="toned">{verdict}</span>
          <span class="row">
            <RunName id={item} />
          </span>
          <span class="cut" title={arm}>
            {arm}
          </span>
          <span class="cut quiet why" title={because.join('; ')}>
            {because.join('; ')}
          </span>
          <span class="quiet number" title={cost(spent)}>
            {costShort(spent)}
          </span>
        </a>
      )}
    </VirtualList>
  );
}
