/** Speaks with an agent: reads what was said, follows the answer under way, and goes on with it after a break. */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { ask, encode, post, Problem, send } from './api.ts';
import { takeChunk, withDecision, withoutWait, type Chat, type ChatChunk, type ChatMessage } from './chat.ts';
import { readEvents } from './events.ts';
import { awaitFirst } from './query.ts';

export interface Spoken extends Chat {
  /** Whether what was said is known. */
  readonly isLoaded: boolean;
  readonly isUnderWay: boolean;
  readonly problem: Problem | undefined;
  readonly say: (text: string) => void;
  /** Decides about a tool's call that waits for the person of the chat. */
  readonly decide: (message: ChatMessage, toolCallId: string, approved: boolean) => void;
  /** Answers a question of the agent. */
  readonly answer: (message: ChatMessage, waitId: string, value: unknown) => void;
  readonly stop: () => void;
  readonly retry: () => void;
}

interface Posted {
  readonly messages: readonly ChatMessage[];
  readonly answers?: Readonly<Record<string, unknown>>;
  readonly trigger?: 'regenerate-message';
}

const retryMs = 1_000;
const empty: Chat = { messages: [] };

export function useChat(id: string): Spoken {
  const [chat, setChat] = useState<Chat>(empty);
  const [isLoaded, setLoaded] = useState(false);
  const [isUnderWay, setUnderWay] = useState(false);
  const [problem, setProblem] = useState<Problem>();
  const leaving = useRef(new AbortController());
  const path = `/chat/${encode(id)}`;

  /** Reads a stream to its end. @returns whether there was one */
  const take = useCallback(async (response: Response, isWhole: boolean): Promise<boolean> => {
    if (response.status === 204 || response.body === null) return false;
    for await (const { data } of readEvents(response.body)) {
      if (data === undefined || data === '[DONE]') continue;
      const chunk = JSON.parse(data) as ChatChunk;
      setChat((old) => takeChunk(old, chunk, isWhole));
    }
    return true;
  }, []);

  /** Reads what is recorded, and follows the answer under way, until nothing is. */
  const follow = useCallback(async (): Promise<void> => {
    const { signal } = leaving.current;
    while (!signal.aborted) {
      try {
        const read = await ask<{ readonly messages: readonly ChatMessage[]; readonly isUnderWay: boolean }>(path, {
          signal,
        });
        setChat(({ failure }) => ({ messages: read.messages, ...(failure !== undefined && { failure }) }));
        setLoaded(true);
        setUnderWay(read.isUnderWay);
        setProblem(undefined);
        if (!read.isUnderWay || !(await take(await send(`${path}/stream`, { signal }), true))) break;
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof Problem && error.status >= 400 && error.status < 500) {
          setProblem(error);
          break;
        }
        await new Promise((resolve) => setTimeout(resolve, retryMs));
      }
    }
    setUnderWay(false);
  }, [path, take]);

  useEffect(() => {
    leaving.current = new AbortController();
    const answered = awaitFirst();
    setChat(empty);
    setLoaded(false);
    void follow().finally(answered);
    return () => leaving.current.abort();
  }, [follow]);

  const speak = useCallback(
    async (posted: Posted, said?: ChatMessage): Promise<void> => {
      const { signal } = leaving.current;
      setUnderWay(true);
      setProblem(undefined);
      setChat(({ messages }) => ({ messages: said === undefined ? messages : [...messages, said] }));
      try {
        const isWhole = posted.messages.at(-1)?.role !== 'assistant';
        await take(await send(path, { method: 'POST', body: posted, signal }), isWhole);
        setUnderWay(false);
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof Problem && error.status >= 400) {
          setUnderWay(false);
          setProblem(error);
          // What was not taken was not said.
          setChat(({ messages }) => ({ messages: messages.filter((one) => one !== said) }));
          return;
        }
        // It may have been taken: what is recorded tells.
        await follow();
      }
    },
    [path, follow, take],
  );

  const replace = (message: ChatMessage): void =>
    setChat(({ messages }) => ({ messages: messages.map((one) => (one.id === message.id ? message : one)) }));

  return {
    ...chat,
    isLoaded,
    isUnderWay,
    problem,
    say(text) {
      const said: ChatMessage = { id: crypto.randomUUID(), role: 'user', parts: [{ type: 'text', text }] };
      void speak({ messages: [said] }, said);
    },
    decide(message, toolCallId, approved) {
      const decided = withDecision(message, toolCallId, approved);
      replace(decided);
      void speak({ messages: [decided] });
    },
    answer(message, waitId, value) {
      replace(withoutWait(message, waitId));
      void speak({ messages: [message], answers: { [waitId]: value } });
    },
    stop() {
      post(`${path}/stop`).then(() => follow(), setProblem);
    },
    retry() {
      void speak({ messages: [], trigger: 'regenerate-message' });
    },
  };
}
