/** The reason of a checkpoint in a few words. */
import type { LogEntry } from '../../operations/checkpoints/read-log.ts';
import { describeWorker } from '../../app/process/process-ids.ts';
import { formatCosts } from '../../operations/format/amounts.ts';
import { printable } from '../../operations/format/terminal.ts';
import { shortStepName } from '../../operations/format/step-name.ts';
import { agentChangeIn, branchWords, repeatWords } from '../../operations/format/story-words.ts';
import { formatSize } from '../../operations/format/size.ts';
import { formatDuration } from '../../operations/format/time.ts';
import { formatInline } from './value.ts';
import { fit } from './width.ts';

/** An event may be long; `--json` gives all of it. */
const eventWidth = 160;

type Part = LogEntry['change'][number];
type BegunAgain = Parameters<typeof repeatWords>[0];

function placeOf({ node, step, visit }: Part): string {
  const place = (node ?? []).join('/');
  const named = step === undefined ? place : `${place}:${shortStepName(step)}`;
  return visit !== undefined && visit > 1 ? `${named} (visit ${visit})` : named;
}

const verbs: Readonly<Record<Part['kind'], (part: Part) => string>> = {
  start: () => 'started',
  settle: ({ status = 'completed', verdict }) =>
    verdict === undefined ? status : `ended with ${verdict.replaceAll('_', ' ')}`,
  retry: ({ attempt }) => `attempt ${(attempt ?? 2) - 1} failed, tries again`,
  intent: ({ effect }) => `starts${effect === undefined ? '' : ` (${effect})`}`,
  withdraw: () => 'not started after all',
  told: ({ status = '', by }) => `${by ?? 'its process'}, which had lost the run, told: ${status}`,
  repeat: ({ by = 'default', worker, attempt, key }) =>
    repeatWords(
      {
        by: by as BegunAgain['by'],
        ...(worker !== undefined && { worker }),
        ...(attempt !== undefined && { attempt }),
        ...(key !== undefined && { key }),
      },
      describeWorker,
    ),
  step: ({ status }) => (status === undefined || status === 'done' ? 'step done' : `step ${status}`),
  wait: () => 'waits',
  signal: () => 'keeps a signal that came early',
  remind: () => 'reminded of',
  escalate: ({ detail }) =>
    `given to ${(detail as { readonly to?: readonly string[] } | undefined)?.to?.join(', ') ?? 'others'} too`,
  answer: ({ by }) => (by === undefined ? 'answered' : `answered by ${by}`),
  changed: ({ node, by, detail }) =>
    node === undefined
      ? `${by ?? 'a person'} answered a question that was closed as changed: ${fit(formatInline((detail as { readonly answer?: unknown } | undefined)?.answer), eventWidth)}`
      : 'waits for something else; what it waited for is closed, and an answer to it is not used',
  save: () => 'saved its state',
  event: ({ name, detail }) =>
    agentChangeIn(name, detail) ?? `told ${name ?? 'an event'}: ${fit(formatInline(detail), eventWidth)}`,
  fail: () => 'fails; what follows that is next',
  retire: () => 'retired its earlier calls',
  append: ({ list }) => `appended to ${list ?? 'a list'}`,
  replay: ({ from }) => (from === undefined ? 'replayed' : `replayed from ${from.runId}@${from.seq}`),
  fork: ({ from, detail }) =>
    `${from === undefined ? 'forked' : `forked from ${from.runId}@${from.seq}`}${branchIn(detail)}`,
  resume: ({ detail, anyVersion }) =>
    `resumed${branchIn(detail)}${clockIn(detail)}${anyVersion === true ? '; any version may go on with it' : ''}`,
  pause: () => 'paused',
  cancel: ({ by, detail }) => `cancelled${by === undefined ? '' : ` by ${by}`}${reasonIn(detail)}`,
  end: ({ status, by, detail }) =>
    `ended${status === undefined ? '' : `: ${status}`}${by === undefined ? '' : ` by ${by}`}${reasonIn(detail)}${formatUnfinished(detail)}`,
  warning: () => 'left an error that nobody caught, after its attempt had ended; nothing fails by it',
  large: ({ detail }) => formatNearLimit(detail),
  fold: () => 'pruned',
};

function formatNearLimit(detail: unknown): string {
  const { bytes = 0, limitBytes = 0 } = (detail ?? {}) as { readonly bytes?: number; readonly limitBytes?: number };
  return `adds ${formatSize(bytes)}, near the limit of ${formatSize(limitBytes)}`;
}

function branchIn(detail: unknown): string {
  const words = branchWords(detail);
  return words === undefined ? '' : `; ${words}`;
}

/** By how much the clock was set back meanwhile, as the change says it. */
function clockIn(detail: unknown): string {
  const { clockSetBackMs: ms } = (detail ?? {}) as { readonly clockSetBackMs?: unknown };
  return typeof ms === 'number' ? `; the clock was set back by ${formatDuration(ms)}, and due times with it` : '';
}

/** Why a run was cancelled, as the change says it. */
function reasonIn(detail: unknown): string {
  const { reason } = (detail ?? {}) as { readonly reason?: unknown };
  return typeof reason === 'string' ? `: ${fit(formatInline(reason), eventWidth)}` : '';
}

function formatUnfinished(detail: unknown): string {
  const { gaveUp } = (detail ?? {}) as { readonly gaveUp?: unknown };
  return typeof gaveUp === 'string' ? `; ${gaveUp}, which follows a cancel, was given up` : '';
}

/** `draft completed in 120 ms` */
export function describePart(part: Part): string {
  const took = part.kind === 'settle' && part.durationMs !== undefined ? `in ${formatDuration(part.durationMs)}` : '';
  const costs = formatCosts({ ...(part.spent && { spent: part.spent }), ...(part.spared && { saved: part.spared }) });
  const cost = costs === undefined ? '' : `for ${costs}`;
  const why = part.error === undefined ? '' : `(${part.error.code}: ${part.error.message})`;
  const verb = (verbs[part.kind] as ((part: Part) => string) | undefined)?.(part) ?? part.kind;
  return printable([placeOf(part), verb, took, cost, why].filter((text) => text !== '').join(' '));
}

/** All parts of a change, what weighs most first as it was written. */
export function describeChange(change: LogEntry['change']): string {
  return change.map(describePart).join('; ');
}
