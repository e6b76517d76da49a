/** What a commit owes to webhooks: rows of the index that are written with it, so that they are there when it is, and only then (WH2). */
import type { Webhook, WebhookEvent } from '../../graph/webhooks.ts';
import { webhookSecretName } from '../../graph/webhooks.ts';
import type { ChangePart } from '../../history/stored/change.ts';
import { keySeedOf } from '../../history/stored/key-seed.ts';
import { metaOf } from '../../history/stored/stored-meta.ts';
import { isAnswerable, sealedDelivery, type OpenQuestion } from '../../history/stored/wait-row.ts';
import type { RunRow, WaitRow } from '../../ports/store.ts';
import { shown } from '../../state/secrecy/shown-text.ts';
import type { RunTree, WaitRecord } from '../../state/tree.ts';
import { hashParts } from '../../state/values/canonical-text.ts';

/** What a row of the outbox has: all that its delivery needs, so that whoever finds it needs nothing of the run. */
export interface OwedDelivery {
  readonly url: string;
  /** Name of the secret. */
  readonly secret: string;
  readonly private?: true;
  readonly event: WebhookEvent;
  readonly runId: string;
  readonly queue: string;
  /** What is sent, as JSON. It is made once, so that every attempt sends the same. */
  readonly body: string;
}

/** A checkpoint that is about to be committed. */
export interface Committing {
  readonly seq: number;
  readonly at: number;
  readonly change: readonly ChangePart[];
  readonly root: RunTree;
}

/** Something about a run that webhooks may report. */
interface RunEvent {
  readonly type: WebhookEvent;
  /** The question that it is about. */
  readonly waitId?: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** What kinds of the body's `type` there are, as Standard Webhooks has them: words with dots. */
const bodyTypes: Readonly<Record<WebhookEvent, string>> = {
  completed: 'run.completed',
  failed: 'run.failed',
  asked: 'question.asked',
  overdue: 'question.overdue',
};

/** A question that would make a larger body is told of without its choices, schema and metadata. */
const questionCharsMax = 65_536;
const failuresMax = 20;

/** The rows that a commit writes for the webhooks of its run; none if it tells of nothing that one of them wants. */
export function owedBy(run: RunRow, hooks: readonly Webhook[], committing: Committing): readonly WaitRow[] {
  const rows = new Map<string, WaitRow>();
  for (const event of eventsIn(run, committing))
    for (const hook of hooks) {
      if (!hook.on.includes(event.type)) continue;
      const id = deliveryId(run, committing.seq, event, hook);
      rows.set(id, sealedDelivery(run, id, owedDelivery(run, hook, event, committing.at)));
    }
  return [...rows.values()];
}

/** Names a delivery: the same whoever finds it owed, and another one for whatever else is owed anywhere. */
function deliveryId(run: RunRow, seq: number, { type, waitId = '' }: RunEvent, { url }: Webhook): string {
  return hashParts(['webhook', keySeedOf(run), String(seq), type, waitId, url]).slice(0, 32);
}

function owedDelivery(run: RunRow, hook: Webhook, { type, data }: RunEvent, at: number): OwedDelivery {
  const { runId, graphId, schedule } = run;
  const { labels } = metaOf(run);
  const about = { runId, graphId, ...(labels !== undefined && { labels }) };
  const body = JSON.stringify({
    type: bodyTypes[type],
    timestamp: new Date(at).toISOString(),
    data: { ...about, ...data },
  });
  return {
    url: hook.url,
    secret: webhookSecretName(hook),
    ...(hook.private === true && { private: true as const }),
    event: type,
    runId,
    queue: schedule.queue,
    body,
  };
}

function eventsIn({ runId, graphId }: RunRow, { seq, change, root }: Committing): readonly RunEvent[] {
  return change.flatMap(({ kind, status, wait: waitId = '' }): readonly RunEvent[] => {
    if (kind === 'end' && (status === 'completed' || status === 'failed')) {
      const failures = status === 'failed' ? { failures: failuresOf(root) } : {};
      return [{ type: status, data: { seq, ...failures } }];
    }
    const type = kind === 'wait' ? 'asked' : kind === 'remind' || kind === 'escalate' ? 'overdue' : undefined;
    const wait = type && root.waits[waitId];
    // What the person in a chat is asked is told there.
    if (type === undefined || wait === undefined || !isAnswerable(wait) || wait.audience === 'user') return [];
    return [{ type, waitId, data: { seq, question: questionOf({ runId, graphId, waitId }, wait) } }];
  });
}

/** The question as listings show it, so that an answer link can be made of it. */
function questionOf(about: Pick<OpenQuestion, 'runId' | 'graphId' | 'waitId'>, wait: WaitRecord): unknown {
  const question = { ...wait, ...about };
  if (JSON.stringify(question).length <= questionCharsMax) return shown(question);
  const { choices: _, schema: __, metadata: ___, prompt, ...rest } = question;
  return shown({ ...rest, ...(prompt !== undefined && { prompt: prompt.slice(0, 2_000) }), isCut: true });
}

/** Which nodes made the run fail, and why: in short, as it is shown to models. */
function failuresOf({ failures = {} }: RunTree): readonly unknown[] {
  return Object.entries(failures)
    .slice(0, failuresMax)
    .map(([node, error]) => {
      const { code = 'NODE_FAILED', message = '' } = error as { readonly code?: string; readonly message?: string };
      return shown({ node, code, message: message.slice(0, 2_000) });
    });
}
