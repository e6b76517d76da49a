/**
 * A post-mortem in words, in the order in which it is read. The terminal and the HTML page say the same; each only decides how it looks.
 * The texts hold what runs and authors wrote as it is, so whoever shows them makes them safe for that place first.
 */
import { commandText } from '../../errors.ts';
import { agentChangeWords, readAgentChange } from '../../graph/contracts/agent-change.ts';
import { isEmptyHappened } from '../../engine/validate/choices.ts';
import { isLarge } from '../../dialects/dot/run/context/context-reader.ts';
import type { ExplainedEdge } from '../../history/explain/explain-edges.ts';
import type {
  PostMortem,
  StoryEntry,
  StoryError,
  StoryEvent,
  StoryVisit,
  ValueChange,
} from '../../history/explain/story.ts';
import { toJson } from '../contract/to-json.ts';
import { formatPath } from '../contract/state-path.ts';
import { deathWords, formatCosts } from './amounts.ts';
import { againWords, errorLines } from './failure-words.ts';
import { formatSize } from './size.ts';
import { shortStepName, stepKind } from './step-name.ts';
import { formatDuration } from './time.ts';

/** Something that happened to the run as a whole. */
export interface EventWords {
  readonly kind: 'event';
  /** The checkpoint, such as `@3`, with its run where that is an ancestor. */
  readonly place: string;
  readonly text: string;
}

/** One line about a visit. */
export interface NoteWords {
  readonly kind:
    | 'trace'
    | 'taken over'
    | 'condition'
    | 'retry'
    | 'repeat'
    | 'agent changed'
    | 'steps'
    | 'failed step'
    | 'asked'
    | 'open'
    | 'failure';
  readonly text: string;
}

export interface VisitWords {
  readonly kind: 'visit';
  readonly place: string;
  readonly visit: StoryVisit;
  /** How it ended, in the words of its dialect: `success`, `completed`; else `waiting` or `not ended`. */
  readonly outcome: string;
  /** Number of visits, attempts, duration, costs, who settled it. */
  readonly facts: readonly string[];
  readonly notes: readonly NoteWords[];
  /** The changed values that say something: without what only an engine reads, and without what the visit says itself. */
  readonly changes: readonly ChangeWords[];
  readonly edges: readonly EdgeWords[];
}

/** A changed value, with words in place of one that is gone or too large to be shown. */
export interface ChangeWords extends ValueChange {
  readonly beforeWords?: string;
  readonly afterWords?: string;
}

/** An edge that leaves a node. */
export interface EdgeWords {
  readonly target: string;
  readonly label?: string;
  readonly fired: boolean;
  /** Its condition and why it was taken or not; empty if it was the only way. */
  readonly why: readonly string[];
}

export interface StoryWords {
  /** Duration, costs, and where the run was forked from. */
  readonly facts: readonly string[];
  readonly entries: readonly (EventWords | VisitWords)[];
}

/** A post-mortem in words. The graph's own places, where nothing happens, are omitted. */
export function storyWords(story: PostMortem): StoryWords {
  const { startedAt, endedAt, forkedFrom, entries } = story;
  const costs = formatCosts(story);
  const died = deathWords(story.deaths);
  return {
    facts: [
      formatDuration(endedAt - startedAt),
      ...(costs === undefined ? [] : [costs]),
      ...(died === undefined ? [] : [died]),
      ...(forkedFrom === undefined ? [] : [`forked from ${forkedFrom.runId}@${forkedFrom.seq}`]),
    ],
    entries: entries
      .filter((entry) => entry.kind !== 'visit' || !isPlace(entry.path.at(-1) ?? ''))
      .map((entry) => (entry.kind === 'visit' ? visitWords(entry, story) : eventWords(entry, story))),
  };
}

/** The graph's own places have such ids. */
function isPlace(id: string): boolean {
  return id.startsWith('__');
}

function placeOf({ runId, seq }: StoryEntry, story: PostMortem): string {
  return runId === story.runId ? `@${seq}` : `${runId}@${seq}`;
}

/** An error behind a colon; nothing if none is known. */
export function reason(error: StoryError | undefined): string {
  return error === undefined ? '' : `: ${error.message} [${error.code}]`;
}

/** A value on one line, as JSON. */
export function inlineValue(value: unknown): string {
  if (value === undefined) return 'undefined';
  const plain = toJson(value);
  return typeof plain === 'string' && typeof value !== 'string' ? plain : JSON.stringify(plain);
}

function eventWords(event: StoryEvent, story: PostMortem): EventWords {
  const { kind, by, status, from, pruned, detail } = event;
  const words: Readonly<Record<StoryEvent['kind'], string>> = {
    start: 'the run was started',
    fork: `the run was forked from ${from === undefined ? 'another' : `${from.runId}@${from.seq}`}`,
    resume: 'the run went on',
    pause: 'the run waits',
    cancel: 'the run was cancelled',
    fail: 'the run fails; what follows that is next',
    end: `the run ended: ${status ?? 'completed'}`,
    fold:
      pruned?.after === undefined
        ? 'what came before was pruned'
        : `what happened in ${pruned.after + 1}–${pruned.upTo} was pruned`,
  };
  const who = by === undefined ? '' : ` by ${by}`;
  const more = kind === 'resume' || kind === 'fork' ? branchWords(detail) : undefined;
  const other = detail === undefined || more !== undefined ? '' : ` (${inlineValue(detail)})`;
  const text = `${words[kind]}${who}${more === undefined ? other : `; ${more}`}`;
  return { kind: 'event', place: placeOf(event, story), text };
}

interface Difference {
  readonly what: string;
  readonly detail: string;
}

const isDifference = (one: unknown): one is Difference => {
  const { what, detail } = (one ?? {}) as Partial<Difference>;
  return typeof what === 'string' && typeof detail === 'string';
};

/** `node added check (the run is past it: it is never run)`. Edges follow from nodes, so they are listed where nothing else is. */
function graphWords(differences: readonly Difference[]): string {
  const nodes = differences.filter(({ what }) => !what.startsWith('edge '));
  const parts = nodes.length > 0 ? nodes : differences;
  const words = parts.map(({ what, detail }) =>
    what === 'code' ? detail : `${what} ${detail.replace(/; (.+)$/u, ' ($1)')}`,
  );
  const isOtherGraph = parts.some(({ what }) => what !== 'code');
  return `under ${isOtherGraph ? 'another graph' : 'other code'}: ${words.join('; ')}`;
}

/**
 * What is recorded of a fork or a resume, in words: what was set and answered, and how the graph differs, nodes that never run included.
 * Undefined if there is nothing, or it is something else.
 */
export function branchWords(detail: unknown): string | undefined {
  const { set, answers, graph = detail } = (detail ?? {}) as Readonly<Record<string, unknown>>;
  const list = (names: unknown): string => (Array.isArray(names) ? names.map(String).join(', ') : '');
  const words = [
    list(set) === '' ? '' : `set: ${list(set)}`,
    list(answers) === '' ? '' : `answered otherwise: ${list(answers)}`,
    Array.isArray(graph) && graph.length > 0 && graph.every(isDifference) ? graphWords(graph) : '',
  ].filter((text) => text !== '');
  return words.length === 0 ? undefined : words.join('; ');
}

function visitWords(visit: StoryVisit, story: PostMortem): VisitWords {
  const costs = formatCosts(visit);
  const reported = stageOutcome(visit);
  return {
    kind: 'visit',
    place: placeOf(visit, story),
    visit,
    outcome: reported ?? (visit.attempts === undefined ? standing(visit) : visit.status),
    facts: [
      ...(visit.visit > 1 ? [`visit ${visit.visit}`] : []),
      ...((visit.attempts ?? 1) > 1 ? [`${visit.attempts} attempts`] : []),
      ...(visit.durationMs === undefined ? [] : [formatDuration(visit.durationMs)]),
      ...(costs === undefined ? [] : [costs]),
      ...(visit.by === undefined ? [] : [`settled by ${visit.by}`]),
    ],
    notes: notesOf(visit),
    changes: visit.changes
      .filter((change) => isWorthShowing(change, reported !== undefined))
      .map((one) => changeWords(one, visit)),
    edges: visit.edges
      // That the only way was taken goes without saying.
      .filter(({ to }, _, { length }) => !(isPlace(to) && length === 1))
      .map((edge) => edgeWords(edge, visit)),
  };
}

function standing({ questions, isUnfinished }: StoryVisit): string {
  const isWaiting = isUnfinished !== true && questions.some(({ closedAt }) => closedAt === undefined);
  return isWaiting ? 'waiting' : 'not ended';
}

/** What an event of an agent says of its change; undefined if it is another event. */
export function agentChangeIn(name: string | undefined, detail: unknown): string | undefined {
  const change = readAgentChange(name, detail);
  return change && agentChangeWords(change);
}

/** Why something was begun again that may have begun before. Of what declares no effect class it is not known whether it had. */
export function repeatWords(repeat: Parameters<typeof againWords>[0], nameWorker?: (id: string) => string): string {
  if (repeat.by !== 'default') return againWords(repeat, nameWorker);
  return 'begun again: the process that had the run before ended, or lost it, or gave it back while this ran; it declares no effect class, so what it does may have been done twice';
}

function notesOf(visit: StoryVisit): readonly NoteWords[] {
  const { takenFrom, when, retries, repeats = [], agentChanges = [], questions } = visit;
  const isAlone = hasOneStep(visit);
  return [
    ...(takenFrom === undefined ? [] : [{ kind: 'taken over', text: takenOver(takenFrom, visit) } as const]),
    ...(when === undefined ? [] : [{ kind: 'condition', text: `its condition did not hold: ${when}` } as const]),
    ...retries.map(({ attempt, step, error }): NoteWords => {
      const whose = step === undefined || isAlone ? '' : `${shortStepName(step)}: `;
      return { kind: 'retry', text: `${whose}attempt ${attempt} failed${reason(error)}, tried again` };
    }),
    ...agentChanges.map((change): NoteWords => ({ kind: 'agent changed', text: agentChangeWords(change) })),
    ...repeats.map(({ step, ...repeat }): NoteWords => {
      const whose = step === undefined ? '' : `step ${shortStepName(step)}: `;
      return {
        kind: 'repeat',
        text: `${whose}${repeatWords(repeat)}`,
      };
    }),
    ...stepsNote(visit),
    ...failedSteps(visit),
    ...questions.map((question): NoteWords => {
      const isOpen = question.closedAt === undefined && visit.attempts === undefined && visit.isUnfinished !== true;
      return { kind: isOpen ? 'open' : 'asked', text: questionText(question, isOpen, visit.isUnfinished === true) };
    }),
    ...failureOf(visit),
  ];
}

/** What a fork takes over is an outcome. Which edges follow is decided by its own state, so another one may be taken than there. */
function takenOver({ runId, seq }: { readonly runId: string; readonly seq: number }, { edges }: StoryVisit): string {
  const anew = edges.length > 1 ? '; where it goes on was decided anew' : '';
  return `its outcome was taken over from ${runId}@${seq}${anew}`;
}

/** Whether all work of the visit is one step, such as that of a pipeline's stage: it is the node's work itself. */
function hasOneStep({ steps, retries }: StoryVisit): boolean {
  const names = [...steps.map(({ step }) => step), ...retries.flatMap(({ step }) => step ?? [])];
  return new Set(names).size === 1;
}

/** A step that is the node's work itself says no more than the failure of the node. */
function failedSteps(visit: StoryVisit): readonly NoteWords[] {
  const [failure] = failureOf(visit);
  const isReported = (error: StoryError | undefined): boolean =>
    failure !== undefined && hasOneStep(visit) && failure.text.startsWith(error?.message ?? '');
  return visit.steps
    .filter(({ status, error }) => status === 'failed' && !isReported(error))
    .map(({ step, error }): NoteWords => ({
      kind: 'failed step',
      text: `${shortStepName(step)} failed${reason(error)}`,
    }));
}

/** The steps that did their work, counted by what they do: `steps: model ×3, tool look ×2`. */
function stepsNote({ steps }: StoryVisit): readonly NoteWords[] {
  const kinds = steps.flatMap(({ step, status }) => (status === 'failed' ? [] : [stepKind(step)]));
  if (kinds.length < 2) return [];
  const counted = [...new Set(kinds)].map((kind) => [kind, kinds.filter((one) => one === kind).length] as const);
  const text = counted.map(([kind, count]) => (count === 1 ? kind : `${kind} ×${count}`)).join(', ');
  return [{ kind: 'steps', text: `steps: ${text}` }];
}

/** What a stage of a pipeline said of itself. */
function stageOutcome({ value }: StoryVisit): string | undefined {
  const outcome = (value as { readonly outcome?: unknown } | null | undefined)?.outcome;
  return typeof outcome === 'string' && /^[a-z_]{1,20}$/.test(outcome) ? outcome : undefined;
}

/** Frames of each error that are told here. */
const framesShown = 3;

function failureOf({ error, value }: StoryVisit): readonly NoteWords[] {
  if (error !== undefined)
    return [
      { kind: 'failure', text: `${error.message} [${error.code}]` },
      ...errorLines(error, { framesMax: framesShown }).map((text) => ({ kind: 'trace', text: text.trim() }) as const),
    ];
  const reason = (value as { readonly failure_reason?: unknown } | null | undefined)?.failure_reason;
  return typeof reason === 'string' ? [{ kind: 'failure', text: reason }] : [];
}

function questionText(
  { kind, name, prompt, at, closedAt, by, answer, isChanged }: StoryVisit['questions'][number],
  isOpen: boolean,
  isUnfinished: boolean,
): string {
  const opened =
    kind === 'question' || kind === 'doubt' ? 'asked' : kind === 'refused' ? 'was refused' : `waited for a ${kind}`;
  const waited = closedAt === undefined ? '' : ` after ${formatDuration(closedAt.at - at)}`;
  const who = by === undefined ? '' : ` by ${by}`;
  const end =
    closedAt === undefined
      ? isOpen
        ? 'still open'
        : isUnfinished
          ? 'not answered'
          : 'not needed any more'
      : answer === undefined
        ? `over${who}${waited}`
        : `answered ${inlineValue(answer)}${kind === 'doubt' && isEmptyHappened(answer) ? ', and what it gave as empty' : ''}${who}${waited}`;
  const changed = isChanged === true ? '; changed since, so an answer to it is not used' : '';
  return `${opened} ${(prompt ?? name).replaceAll(/\s+/g, ' ').trim()}: ${end}${changed}`;
}

/** What the engine of pipelines notes of each stage; the stage tells it itself. */
const noted: ReadonlySet<string> = new Set(['current_node', 'outcome', 'last_stage', 'preferred_label']);

function isWorthShowing({ path, before, after }: ValueChange, isStage: boolean): boolean {
  const [area, key = ''] = path;
  const isInner = key.startsWith('internal.') || (area === 'diagnostics' && key === 'history');
  if (isInner || (isStage && area === 'scratch' && noted.has(key))) return false;
  return before === undefined || inlineValue(before) !== inlineValue(after);
}

function changeWords(change: ValueChange, { runId, seq, path: node }: StoryVisit): ChangeWords {
  const { path, before, beforeBytes, after, afterBytes, isDeleted } = change;
  const was = beforeBytes === undefined ? largeWords(before) : `large, ${formatSize(beforeBytes)}`;
  // The state of a child run is read with more than a path.
  const where = node.length > 1 ? '' : `: ${commandText('state', `${runId}@${seq}`, formatPath(path))}`;
  const large = afterBytes === undefined ? largeWords(after) : `large, ${formatSize(afterBytes)}${where}`;
  const is = isDeleted === true ? 'gone' : large;
  return {
    ...change,
    ...(was !== undefined && { beforeWords: was }),
    ...(is !== undefined && { afterWords: is }),
  };
}

/** Pipelines keep large values of their context as files. */
function largeWords(value: unknown): string | undefined {
  const file = isLarge(value) ? value['~large'] : undefined;
  return file && `large, ${formatSize(file.sizeBytes)}, kept as ${file.name}`;
}

function edgeWords(edge: ExplainedEdge, { path, edges }: StoryVisit): EdgeWords {
  const { to, label, fired, because } = edge;
  // A function without a name of its own is called like its edge, which is named already.
  const condition = edge.condition === `${path.at(-1)} -> ${to}` ? undefined : edge.condition;
  return {
    target: isPlace(to) ? 'the end' : to,
    ...(label === undefined ? {} : { label }),
    fired,
    why: fired && edges.length === 1 ? [] : [condition ?? '', because].filter((text) => text !== ''),
  };
}
