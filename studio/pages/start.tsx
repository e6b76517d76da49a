/** Starts a run: a workflow, and a form for what it takes. */
import type { JSX } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { encode, may, placeOf, post, type Problem } from '../data/api.ts';
import { defaultsOf, isComplete } from '../data/form-values.ts';
import { faultsOfProblem, type Faults } from '../data/form-faults.ts';
import { useLoaded } from '../data/query.ts';
import type { Checkpoint, JsonSchema } from '../data/types.ts';
import { Awaited, Copy, Empty, Trouble } from '../parts/common.tsx';
import { Field, JsonInput } from '../parts/form.tsx';
import { Icon } from '../parts/icons.tsx';
import { goTo, linkTo, linkToRun, readParam } from '../url.ts';
import { command, countOf } from '../words.ts';
import '../style/run.css';

interface ListedWorkflow {
  readonly name: string;
  readonly description?: string;
  readonly source: string;
  readonly blockCount: number;
  readonly asks: boolean;
}

interface Workflows {
  readonly workflows: readonly ListedWorkflow[];
  readonly broken: readonly { readonly source: string; readonly violations: readonly { readonly message: string }[] }[];
}

interface KnownGraph {
  readonly graphId: string;
  readonly nodeCount: number;
  readonly input?: JsonSchema;
}

interface WorkflowInput {
  readonly name: string;
  readonly schema: JsonSchema;
  readonly description?: string;
  readonly default?: unknown;
  readonly isRequired: boolean;
}

/** Something that can be started. */
interface Startable {
  readonly name: string;
  readonly about: string;
}

function useStartables(): {
  readonly startables: readonly Startable[] | undefined;
  readonly broken: Workflows['broken'];
  readonly graphs: readonly KnownGraph[];
  readonly problem: Problem | undefined;
} {
  const files = useLoaded<Workflows>('/workflows');
  const known = useLoaded<{ readonly graphs: readonly KnownGraph[] }>('/graphs');
  const graphs = known.data?.graphs ?? [];
  const startables =
    files.data === undefined && known.data === undefined
      ? undefined
      : [
          ...graphs.map(({ graphId, nodeCount }) => ({
            name: graphId,
            about: `${countOf(nodeCount, 'node')}, in code`,
          })),
          ...(files.data?.workflows ?? []).map(({ name, description, blockCount, asks }) => ({
            name,
            about: description ?? `${countOf(blockCount, 'block')}${asks ? ', asks' : ''}`,
          })),
        ];
  return { startables, broken: files.data?.broken ?? [], graphs, problem: files.problem };
}

export function StartPage(): JSX.Element {
  const { startables, broken, graphs, problem } = useStartables();
  const like = readParam('like');
  const model = useLoaded<Checkpoint & { readonly graphId?: string }>(
    like === undefined ? undefined : placeOf(like, 0),
  );
  const run = useLoaded<{ readonly graphId: string }>(like === undefined ? undefined : `/runs/${encode(like)}`);
  // Where there is one only, nobody needs to choose it.
  const only = startables?.length === 1 && like === undefined ? startables[0]?.name : undefined;
  const chosen = readParam('workflow') ?? run.data?.graphId ?? only;
  const isReady = like === undefined || (model.data !== undefined && run.data !== undefined);
  return (
    <div class="page">
      <header class="page-head">
        <h1>Start a run</h1>
        {like !== undefined && <span class="quiet small foreign">{`like ${like}`}</span>}
      </header>
      {problem !== undefined && problem.status !== 0 && <Trouble problem={problem} />}
      {startables === undefined && problem === undefined && <Awaited lines={5} />}
      {startables?.length === 0 && <NoWorkflows />}
      {startables !== undefined && startables.length > 0 && (
        <div class="start-columns">
          <nav class="card pick-list" aria-label="Workflows">
            {startables.map(({ name, about }) => (
              <a href={linkTo('start', { workflow: name })} aria-current={name === chosen ? 'true' : undefined}>
                <strong class="foreign">{name}</strong>
                <span class="quiet small foreign">{about}</span>
              </a>
            ))}
          </nav>
          {chosen === undefined ? (
            <p class="quiet">Choose what to start: its form appears here.</p>
          ) : !isReady ? (
            <Awaited lines={5} />
          ) : (
            <StartForm
              key={`${chosen} ${like}`}
              name={chosen}
              graph={graphs.find(({ graphId }) => graphId === chosen)}
              input={like === undefined ? undefined : model.data?.view.state['input']}
            />
          )}
        </div>
      )}
      {broken.length > 0 && (
        <section class="stack broken">
          <h2>Files that are no workflow</h2>
          {broken.map(({ source, violations }) => (
            <div class="note" data-tone="failed">
              <code class="foreign">{source}</code>
              {violations.slice(0, 3).map(({ message }) => (
                <p class="foreign">{message}</p>
              ))}
            </div>
          ))}
        </section>
      )}
    </div>
  );
}

function NoWorkflows(): JSX.Element {
  return (
    <Empty title="No workflow is known here">
      <p>
        The server starts what it was given: folders of workflows, and modules with graphs. Start it with them, or name
        them in cairn.config.
      </p>
      <Copy text={command('studio', '--workflows', 'workflows')} />
      <Copy text={command('studio', '--modules', 'graph.ts')} />
    </Empty>
  );
}

interface FormProps {
  readonly name: string;
  readonly graph: KnownGraph | undefined;
  /** The input of another run. */
  readonly input: unknown;
}

/** The schema of what is taken: of a graph its own, of a workflow in a file that of its inputs. */
function useSchema({ name, graph }: FormProps): {
  readonly schema: JsonSchema | undefined;
  readonly isReady: boolean;
  readonly problem: Problem | undefined;
} {
  const { data, problem } = useLoaded<{ readonly inputs: readonly WorkflowInput[] }>(
    graph === undefined ? `/workflows/${encode(name)}` : undefined,
  );
  const schema = useMemo<JsonSchema | undefined>(() => {
    if (graph !== undefined) return graph.input;
    if (data === undefined) return undefined;
    const fields = data.inputs.map(({ name: key, schema: own, description, default: value }) => {
      const more = {
        ...(description !== undefined && { description }),
        ...(value !== undefined && { default: value }),
      };
      return [key, { ...own, ...more }] as const;
    });
    const required = data.inputs.flatMap(({ name: key, isRequired }) => (isRequired ? [key] : []));
    return { type: 'object', properties: Object.fromEntries(fields), required };
  }, [graph, data]);
  return { schema, isReady: graph !== undefined || data !== undefined, problem };
}

const none: Faults = new Map();

function StartForm(props: FormProps): JSX.Element {
  const { name, input } = props;
  const { schema, isReady, problem } = useSchema(props);
  const [value, setValue] = useState<unknown>(input);
  const [runId, setRunId] = useState('');
  const [failed, setFailed] = useState<Problem>();
  const [isBusy, setBusy] = useState(false);
  const [sent, setSent] = useState<unknown>();
  useEffect(() => {
    if (isReady) setValue((old: unknown) => old ?? defaultsOf(schema));
  }, [isReady, schema]);
  if (problem !== undefined) return <Trouble problem={problem} />;
  if (!isReady) return <Awaited lines={5} />;
  const start = (event: SubmitEvent): void => {
    event.preventDefault();
    setBusy(true);
    setFailed(undefined);
    setSent(value);
    post<{ readonly runId: string }>('/runs', {
      workflow: name,
      ...(value !== undefined && { input: value }),
      ...(runId !== '' && { runId }),
    }).then(
      (started) => goTo(linkToRun(started.runId)),
      (error: Problem) => {
        setFailed(error);
        setBusy(false);
      },
    );
  };
  const hasFields = schema?.properties !== undefined;
  return (
    <form class="card" onSubmit={start} aria-label={`Start ${name}`}>
      <div class="body stack">
        <h2 class="foreign">{name}</h2>
        {hasFields ? (
          Object.keys(schema.properties).length === 0 ? (
            <p class="quiet small">It takes nothing.</p>
          ) : (
            <Field
              schema={schema}
              value={value}
              onChange={setValue}
              faults={sent === value ? faultsOfProblem(failed, '/input') : none}
            />
          )
        ) : (
          <div class="form-field">
            <label>What it is given, as JSON</label>
            <JsonInput aria-label="Input" value={value} onChange={setValue} placeholder="{}" />
          </div>
        )}
        <div class="form-field">
          <label for="run-id">
            Id of the run<span class="quiet"> · made for you if empty; starting twice with one id is the same run</span>
          </label>
          <input
            id="run-id"
            class="field"
            value={runId}
            onInput={({ currentTarget }) => setRunId(currentTarget.value)}
            autocomplete="off"
          />
        </div>
        {failed !== undefined && <Trouble problem={failed} />}
        <div class="row wrap">
          <button type="submit" class="button primary" disabled={isBusy || !may('run') || !isComplete(schema, value)}>
            <Icon name="start" size={14} />
            Start
          </button>
          {!may('run') && <span class="quiet small">You may look, and not start: that needs the scope run.</span>}
          <Copy text={command('run', name, ...inputWords(value), ...(runId === '' ? [] : ['--run-id', runId]))} />
        </div>
      </div>
    </form>
  );
}

function inputWords(value: unknown): readonly string[] {
  if (typeof value !== 'object' || value === null) return value === undefined ? [] : ['--input', JSON.stringify(value)];
  return Object.entries(value).flatMap(([key, part]) => [
    '--input',
    `${key}=${typeof part === 'string' ? part : JSON.stringify(part)}`,
  ]);
}
