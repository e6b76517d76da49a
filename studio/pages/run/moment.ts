/** A moment of a run: what is shown is a function of its history and a seq; live is the newest one. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { ask, encode, logOf, placeOf, type Problem } from '../../data/api.ts';
import type { Followed } from '../../data/follow.ts';
import { useLoaded } from '../../data/query.ts';
import type { Change, Checkpoint, Log, Standing, Story, Structure, Visit } from '../../data/types.ts';
import { goTo, linkWith, readNumber } from '../../url.ts';
import { entriesMax, withPages, type EarlierPages } from './story-lines.ts';

/** A run at a moment, and what the moment is. */
export interface Moment {
  readonly runId: string;
  /** The checkpoint that is shown. */
  readonly seq: number;
  /** The newest one. */
  readonly head: number;
  /** Whether the newest is shown, whatever it is. */
  readonly isLive: boolean;
  readonly checkpoint: Checkpoint | undefined;
  readonly structure: Structure | undefined;
  /** Its newest entries. */
  readonly story: Story | undefined;
  /** Asks for more of them. */
  readonly showEarlier: () => void;
}

/** Entries of a story that are shown at first, and how many more at a time. */
const entriesFirst = 100;
/** A history of more checkpoints is long: its story is requested when one rests at a moment. */
export const longHead = 1_000;
export const restMs = 250;

export function useMoment(standing: Standing, followed: Followed): Moment & { readonly problem: Problem | undefined } {
  const { runId } = standing;
  const head = Math.max(standing.seq, followed.head ?? 0);
  const wanted = readNumber('at');
  const isLive = wanted === undefined || wanted > head;
  const seq = isLive ? head : wanted;
  const checkpoint = useLoaded<Checkpoint>(placeOf(runId, seq), { keepsOld: true, oneAtATime: true, omitsLarge: true });
  const [limit, setLimit] = useState(entriesFirst);
  const settleMs = head > longHead ? restMs : 0;
  const story = useLoaded<Story>(`${placeOf(runId, seq)}/story?limit=${limit}`, { keepsOld: true, settleMs });
  const structure = useLoaded<{ readonly structure: Structure }>(`${placeOf(runId)}/structure`);
  const { whole, showEarlier } = useEarlier(placeOf(runId, seq), story.data);
  return {
    runId,
    seq,
    head,
    isLive,
    checkpoint: checkpoint.data,
    story: whole,
    showEarlier: () => (limit < entriesMax ? setLimit(entriesMax) : showEarlier()),
    structure: structure.data?.structure,
    problem: checkpoint.problem ?? story.problem,
  };
}

/** A story with the pages before its newest, read one after the other from the end back. */
function useEarlier(
  place: string,
  newest: Story | undefined,
): { readonly whole: Story | undefined; readonly showEarlier: () => void } {
  const [pages, setPages] = useState<EarlierPages>();
  const isBusy = useRef(false);
  const of = `${newest?.runId} ${newest?.before}`;
  const known = pages?.of === of ? pages : undefined;
  const whole = useMemo(() => (newest && known ? withPages(newest, known) : newest), [newest, known]);
  return {
    whole,
    showEarlier() {
      if (whole?.before === undefined || isBusy.current) return;
      isBusy.current = true;
      ask<Story>(`${place}/story?limit=${entriesMax}&before=${encode(whole.before)}`)
        .then(({ entries, before }) => setPages({ of, entries: [...entries, ...(known?.entries ?? [])], before }))
        .catch(() => undefined)
        .finally(() => (isBusy.current = false));
    },
  };
}

/** The checkpoints at which something was asked or answered. */
function questionSeqs({ story }: Moment): readonly number[] {
  const visits = story?.entries.filter((entry) => entry.kind === 'visit') ?? [];
  return visits.flatMap(({ questions }) => questions.map(({ seq }) => seq)).sort((a, b) => a - b);
}

/** @param seq - a checkpoint; the head, and beyond, is live */
export function showMoment(seq: number, head: number, replaces = false): void {
  goTo(linkWith({ at: seq >= head ? undefined : Math.max(0, seq) }), { replaces });
}

export function useMomentKeys(moment: Moment): void {
  useEffect(() => {
    const { seq, head } = moment;
    const listen = (event: KeyboardEvent): void => {
      if (
        (event.target as Element).matches('input, select, textarea, [role=tab]') ||
        event.metaKey ||
        event.ctrlKey ||
        event.altKey
      )
        return;
      const questions = questionSeqs(moment);
      const to = {
        ArrowLeft: seq - 1,
        ArrowRight: seq + 1,
        l: head,
        '[': questions.findLast((one) => one < seq),
        ']': questions.find((one) => one > seq) ?? head,
      }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      showMoment(to, head, true);
    };
    document.addEventListener('keydown', listen);
    return () => document.removeEventListener('keydown', listen);
  }, [moment]);
}

/** Checkpoints that are looked through for the beginning of a visit. */
const lookedBack = 200;

/**
 * The checkpoint before a visit began, for a fork that begins it anew with other values: one that is under way goes on with its old input.
 * Undefined: not known yet.
 */
export function useSeqBefore(runId: string, visit: Visit | undefined): number | undefined {
  const first = visit === undefined ? undefined : firstSeq(visit);
  const name = visit?.path.join('/');
  const { data, problem } = useLoaded<Log>(
    first === undefined ? undefined : `${logOf(runId, first)}?limit=${lookedBack}`,
  );
  if (first === undefined || (data === undefined && problem === undefined)) return undefined;
  const isBeginning = ({ kind, node }: Change): boolean =>
    (kind === 'intent' || kind === 'settle') && node?.join('/') === name;
  const before = data?.entries.filter(({ seq }) => seq < first) ?? [];
  const newest = before.find(({ change }) => change.some(isBeginning));
  const hasBegun = newest?.change.some(({ kind, node }) => kind === 'intent' && node?.join('/') === name) === true;
  return Math.max(0, (hasBegun ? newest.seq : first) - 1);
}

/** The checkpoint that first mentions a visit. */
function firstSeq({ seq, steps, questions, retries }: Visit): number {
  return Math.min(seq, ...[...steps, ...questions, ...retries].map((part) => part.seq));
}
