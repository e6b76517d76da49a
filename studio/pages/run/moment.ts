/** A moment of a run: what is shown is a function of its history and a seq; live is the newest one. */
import { useEffect } from 'preact/hooks';
import { encode, type Problem } from '../../data/api.ts';
import type { Followed } from '../../data/follow.ts';
import { useLoaded } from '../../data/query.ts';
import type { Checkpoint, Standing, Story, Structure } from '../../data/types.ts';
import { goTo, linkWith, readNumber } from '../../url.ts';

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
  readonly story: Story | undefined;
}

export function useMoment(standing: Standing, followed: Followed): Moment & { readonly problem: Problem | undefined } {
  const { runId } = standing;
  const head = Math.max(standing.seq, followed.head ?? 0);
  const wanted = readNumber('at');
  const isLive = wanted === undefined || wanted > head;
  const seq = isLive ? head : wanted;
  const name = `${encode(runId)}@${seq}`;
  const checkpoint = useLoaded<Checkpoint>(`/checkpoints/${name}`, { keepsOld: true });
  const story = useLoaded<Story>(`/checkpoints/${name}/story`, { keepsOld: true });
  const structure = useLoaded<{ readonly structure: Structure }>(`/checkpoints/${encode(runId)}/structure`);
  return {
    runId,
    seq,
    head,
    isLive,
    checkpoint: checkpoint.data,
    story: story.data,
    structure: structure.data?.structure,
    problem: checkpoint.problem ?? story.problem,
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
