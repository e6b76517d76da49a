/** Many runs changed at once: first how many and which, then how far it is. The work is a run of its own, whoever looks. */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { encode, placeOf, post, type Problem } from '../../data/api.ts';
import { useLoaded } from '../../data/query.ts';
import type { Checkpoint, Standing } from '../../data/types.ts';
import { announced, Awaited, Copy, Dialog, RunName, Trouble } from '../../parts/common.tsx';
import { Mark } from '../../parts/icons.tsx';
import { linkToRun } from '../../url.ts';
import { command, count, countOf } from '../../words.ts';

/** What is done to which runs. */
export interface BulkRequest {
  readonly action: 'cancel' | 'resume' | 'rm' | 'label';
  readonly body: Readonly<Record<string, unknown>>;
  /** The same as words of a command; absent: there is none. */
  readonly words?: readonly string[];
}

interface Bulk {
  readonly count: number;
  readonly sample: readonly { readonly runId: string; readonly status: string }[];
  readonly runId?: string;
}

const titles = { cancel: 'Cancel', resume: 'Resume', rm: 'Remove', label: 'Label' } as const;
const does = {
  cancel: 'They end where they are. What they did stays done, and each can be forked later.',
  resume: 'They go on from their newest checkpoints, and what failed is tried again. What is done stays done.',
  label: 'Lists find them by it. One of the same name gets the new value; without a value it goes.',
  rm: 'They are gone, with their histories. This cannot be undone.',
} as const;

interface DialogProps {
  readonly request: BulkRequest;
  readonly onClose: () => void;
  readonly onBegun: (runId: string) => void;
}

export function BulkDialog({ request, onClose, onBegun }: DialogProps): JSX.Element {
  const { action, body, words } = request;
  const preview = useLoaded<Bulk>('/bulk', { body: { ...body, action, dryRun: true } });
  const [reason, setReason] = useState('');
  const [label, setLabel] = useState({ name: '', value: '' });
  const [problem, setProblem] = useState<Problem>();
  const [isBusy, setBusy] = useState(false);
  const found = preview.data;
  const title = `${titles[action]} ${found === undefined ? 'runs' : countOf(found.count, 'run')}`;
  const act = (): void => {
    setBusy(true);
    post<Bulk>('/bulk', { ...body, action, ...(reason !== '' && { reason }), ...changeOf(action, label) }).then(
      ({ runId }) => {
        announced.value = `${title}: begun`;
        if (runId === undefined) onClose();
        else onBegun(runId);
      },
      (error: Problem) => {
        setProblem(error);
        setBusy(false);
      },
    );
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <h2>{title}</h2>
      <p class="quiet">{does[action]}</p>
      {preview.problem !== undefined && <Trouble problem={preview.problem} onRetry={preview.reload} />}
      {found === undefined ? preview.problem === undefined && <Awaited lines={4} /> : <Sample found={found} />}
      {action === 'cancel' && (
        <label class="form-field">
          Why, for the record
          <input class="field" value={reason} onInput={({ currentTarget }) => setReason(currentTarget.value)} />
        </label>
      )}
      {action === 'label' && <LabelFields label={label} onChange={setLabel} />}
      <p class="quiet small">A run that goes on meanwhile is left alone. It goes on if this tab is closed.</p>
      {words !== undefined && <Copy text={command(action, ...words, ...wordsOf(action, label))} />}
      {problem !== undefined && <Trouble problem={problem} />}
      <div class="row">
        <button
          type="button"
          class={`button ${action === 'resume' || action === 'label' ? 'primary' : 'danger'}`}
          disabled={isBusy || found === undefined || found.count === 0 || (action === 'label' && label.name === '')}
          onClick={act}
        >
          {title}
        </button>
        <button type="button" class="button bare" onClick={onClose}>
          Not now
        </button>
      </div>
    </Dialog>
  );
}

interface Label {
  readonly name: string;
  readonly value: string;
}

/** A label without a value goes. */
const changeOf = (action: BulkRequest['action'], { name, value }: Label): object =>
  action !== 'label' ? {} : value === '' ? { unset: [name] } : { set: { [name]: value } };

const wordsOf = (action: BulkRequest['action'], { name, value }: Label): readonly string[] =>
  action !== 'label' ? [] : value === '' ? ['--unset', name] : ['--set', `${name}=${value}`];

interface LabelFieldsProps {
  readonly label: Label;
  readonly onChange: (label: Label) => void;
}

function LabelFields({ label, onChange }: LabelFieldsProps): JSX.Element {
  return (
    <div class="row wrap">
      <label class="form-field">
        Label
        <input
          class="field"
          value={label.name}
          onInput={({ currentTarget }) => onChange({ ...label, name: currentTarget.value })}
        />
      </label>
      <label class="form-field">
        Value
        <input
          class="field"
          value={label.value}
          onInput={({ currentTarget }) => onChange({ ...label, value: currentTarget.value })}
        />
      </label>
    </div>
  );
}

function Sample({ found: { count: all, sample } }: { readonly found: Bulk }): JSX.Element {
  return (
    <ul class="bulk-sample" aria-label="Which">
      {sample.map(({ runId, status }) => (
        <li class="row small">
          <RunName id={runId} />
          <span class="quiet push">{status}</span>
        </li>
      ))}
      {all > sample.length && <li class="quiet small">{`and ${count(all - sample.length)} more`}</li>}
    </ul>
  );
}

interface Result {
  readonly done: number;
  readonly moved: number;
  readonly failed: number;
  readonly failures: readonly { readonly runId: string; readonly code: string }[];
}

interface Work extends Standing {
  readonly state: {
    readonly input: { readonly action: BulkRequest['action']; readonly targets: readonly unknown[] };
    readonly outputs: { readonly change?: Result };
  };
}

const everyMs = 1_000;
/** Runs of one step of the work. */
const chunk = 40;

interface ProgressProps {
  readonly runId: string;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

export function BulkProgress({ runId, onDone, onClose }: ProgressProps): JSX.Element {
  const { data, problem } = useLoaded<Work>(`/runs/${encode(runId)}`, { everyMs });
  const result = data?.state.outputs.change;
  const isOver = data !== undefined && ['completed', 'failed', 'cancelled'].includes(data.status);
  const at = useLoaded<Checkpoint>(data === undefined || isOver ? undefined : placeOf(runId, data.seq), {
    keepsOld: true,
  });
  useEffect(() => {
    if (isOver) onDone();
  }, [isOver]);
  const total = data?.state.input.targets.length ?? 0;
  const steps = at.data?.view.nodes.find(({ path }) => path[0] === 'change')?.steps?.['done'] ?? 0;
  const tried = result === undefined ? Math.min(total, steps * chunk) : total;
  const title = `${titles[data?.state.input.action ?? 'cancel']} ${countOf(total, 'run')}`;
  return (
    <section class="note bulk-progress" data-tone={isOver ? data.status : 'running'} aria-label="Change of many runs">
      {problem !== undefined && <Trouble problem={problem} />}
      <div class="row wrap">
        <Mark tone={isOver ? (data.status as 'completed') : 'running'} />
        <strong role="status">
          {result === undefined ? `${title}: ${count(tried)} of ${count(total)}` : `${title}: ${resultWords(result)}`}
        </strong>
        <a class="linked small" href={linkToRun(runId)}>
          its own run
        </a>
        <button type="button" class="button bare push" onClick={onClose}>
          {isOver ? 'Close' : 'Hide'}
        </button>
      </div>
      {!isOver && total > 0 && <progress max={total} value={tried} aria-label="Tried" />}
      {result?.failures.map((failure) => (
        <p class="small row">
          <a class="linked" href={linkToRun(failure.runId)}>
            <RunName id={failure.runId} />
          </a>
          <code class="quiet">{failure.code}</code>
        </p>
      ))}
    </section>
  );
}

function resultWords({ done, moved, failed }: Result): string {
  return [
    `${count(done)} done`,
    ...(moved > 0 ? [`${count(moved)} went on meanwhile and were left alone`] : []),
    ...(failed > 0 ? [`${count(failed)} could not be changed`] : []),
  ].join(', ');
}
