/** Follows a run: the head of its history, as it moves. What is shown of it is always read anew at that head, so live and cold pages are the same. */
import { useEffect, useState } from 'preact/hooks';
import { encode, Problem, send } from './api.ts';
import { readEvents, takeEvent } from './events.ts';
import { takePiece, withoutRecorded, type LiveCall } from './live.ts';
import type { Change } from './types.ts';

export interface Followed {
  /** The newest checkpoint that was heard of; undefined before the first. */
  readonly head: number | undefined;
  /** `live`: the next checkpoint will be heard of. */
  readonly state: 'connecting' | 'live' | 'ended' | 'lost';
  /** What models are just saying. */
  readonly calls: readonly LiveCall[];
}

const nothingSaid: readonly LiveCall[] = [];

const retryMs = 1_000;
const retryMsMax = 10_000;

/** @param from - the head at the time of loading; undefined: not known yet, so nothing is followed */
export function useFollowed(runId: string, from: number | undefined): Followed {
  const [followed, setFollowed] = useState<Followed & { readonly runId: string }>({
    runId,
    head: undefined,
    state: 'connecting',
    calls: nothingSaid,
  });
  const isKnown = from !== undefined;
  useEffect(() => {
    if (from === undefined) return undefined;
    const leaving = new AbortController();
    let head = from;
    let calls = nothingSaid;
    let reported = { head, calls };
    let frame = 0;
    const tell = (state: Followed['state']): void => {
      if (state !== 'live') calls = nothingSaid;
      reported = { head, calls };
      setFollowed({ runId, head, state, calls });
    };
    // Many checkpoints may come in one frame: they are shown as one step.
    const tellSoon = (): void => {
      frame ||= requestAnimationFrame(() => {
        frame = 0;
        if (head !== reported.head || calls !== reported.calls) tell('live');
      });
    };
    const listen = async (): Promise<boolean> => {
      const response = await send(`/runs/${encode(runId)}/events?after=${head}&live=true`, { signal: leaving.signal });
      if (response.status === 204 || response.body === null) return true;
      tell('live');
      for await (const event of readEvents(response.body)) {
        const heard = takeEvent(head, event);
        ({ head } = heard);
        calls = hear(calls, event);
        if (heard.state === 'ended') return true;
        if (heard.state === 'broken') return false;
        tellSoon();
      }
      return false;
    };
    const follow = async (): Promise<void> => {
      for (let waitMs = retryMs; !leaving.signal.aborted; waitMs = Math.min(retryMsMax, waitMs * 2)) {
        try {
          const heard = head;
          if (await listen()) return tell('ended');
          if (head !== heard) waitMs = retryMs;
        } catch (error) {
          if (leaving.signal.aborted) return;
          if (error instanceof Problem && error.isFinal) return tell('lost');
        }
        tell('connecting');
        await new Promise((resolve) => setTimeout(resolve, waitMs));
      }
    };
    void follow();
    return () => {
      leaving.abort();
      cancelAnimationFrame(frame);
    };
    // Only a first head begins a stream; it goes on by itself from there.
  }, [runId, isKnown]);
  return followed.runId === runId ? followed : { head: undefined, state: 'connecting', calls: nothingSaid };
}

/** What models are saying after an event. */
function hear(
  calls: readonly LiveCall[],
  { event, data = '{}' }: Readonly<Record<string, string>>,
): readonly LiveCall[] {
  if (event !== 'live' && event !== 'checkpoint') return calls;
  const {
    node = [],
    detail,
    change = [],
  } = JSON.parse(data) as {
    readonly node?: readonly string[];
    readonly detail?: unknown;
    readonly change?: readonly Change[];
  };
  return event === 'live' ? takePiece(calls, node, detail ?? {}) : withoutRecorded(calls, change);
}
