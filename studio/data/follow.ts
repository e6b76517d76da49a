/** Follows a run: the head of its history, as it moves. What is shown of it is always read anew at that head, so live and cold pages are the same. */
import { useEffect, useState } from 'preact/hooks';
import { encode, Problem, send } from './api.ts';
import { readEvents, takeEvent } from './events.ts';

export interface Followed {
  /** The newest checkpoint that was heard of; undefined before the first. */
  readonly head: number | undefined;
  /** `live`: the next checkpoint will be heard of. */
  readonly state: 'connecting' | 'live' | 'ended' | 'lost';
}

const retryMs = 1_000;
const retryMsMax = 10_000;

/** @param from - the head at the time of loading; undefined: not known yet, so nothing is followed */
export function useFollowed(runId: string, from: number | undefined): Followed {
  const [followed, setFollowed] = useState<Followed & { readonly runId: string }>({
    runId,
    head: undefined,
    state: 'connecting',
  });
  const isKnown = from !== undefined;
  useEffect(() => {
    if (from === undefined) return undefined;
    const leaving = new AbortController();
    let head = from;
    let reported = from;
    let frame = 0;
    const tell = (state: Followed['state']): void => {
      reported = head;
      setFollowed({ runId, head, state });
    };
    // Many checkpoints may come in one frame: they are shown as one step.
    const tellSoon = (): void => {
      frame ||= requestAnimationFrame(() => {
        frame = 0;
        if (head !== reported) tell('live');
      });
    };
    const listen = async (): Promise<boolean> => {
      const response = await send(`/runs/${encode(runId)}/events?after=${head}`, { signal: leaving.signal });
      if (response.status === 204 || response.body === null) return true;
      tell('live');
      for await (const event of readEvents(response.body)) {
        const heard = takeEvent(head, event);
        ({ head } = heard);
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
  return followed.runId === runId ? followed : { head: undefined, state: 'connecting' };
}
