/** Speaks with an agent: reads what was said, follows the answer under way, and goes on with it after a break. */
import { useEffect, useMemo, useState } from 'preact/hooks';
import { ask, encode, post, Problem, send } from './api.ts';
import { takeChunk, withDecision, withoutWait, type Chat, type ChatChunk, type ChatMessage } from './chat.ts';
import { readEvents } from './events.ts';
import { awaitFirst } from './query.ts';

/** A chat as a page shows it. */
export interface ShownChat extends Chat {
  /** Whether what was said is known. */
  readonly isLoaded: boolean;
  readonly isUnderWay: boolean;
  readonly problem?: Problem | undefined;
}

interface Posted {
  readonly messages: readonly ChatMessage[];
  readonly answers?: Readonly<Record<string, unknown>>;
  readonly trigger?: 'regenerate-message';
}

const retryMs = 1_000;
const nothing: ShownChat = { messages: [], isLoaded: false, isUnderWay: false };

export class ChatSession {
  readonly #path: string;
  readonly #show: (change: (old: ShownChat) => ShownChat) => void;
  #leaving = new AbortController();

  constructor(id: string, show: (change: (old: ShownChat) => ShownChat) => void) {
    this.#path = `/chat/${encode(id)}`;
    this.#show = show;
  }

  /** Begins to follow. @returns what ends it */
  open(): () => void {
    this.#leaving = new AbortController();
    void this.#follow().finally(awaitFirst());
    return () => this.#leaving.abort();
  }

  say(text: string): void {
    const message: ChatMessage = { id: crypto.randomUUID(), role: 'user', parts: [{ type: 'text', text }] };
    void this.#speak({ messages: [message] }, message);
  }

  /** Decides about a tool's call that waits for the person of the chat. */
  decide(message: ChatMessage, toolCallId: string, approved: boolean): void {
    const decided = withDecision(message, toolCallId, approved);
    this.#replace(decided);
    void this.#speak({ messages: [decided] });
  }

  /** Answers a question of the agent. */
  answer(message: ChatMessage, waitId: string, value: unknown): void {
    this.#replace(withoutWait(message, waitId));
    void this.#speak({ messages: [message], answers: { [waitId]: value } });
  }

  /** Ends the answer under way. */
  stop(): void {
    post(`${this.#path}/stop`).then(
      () => this.#follow(),
      (problem: Problem) => this.#change({ problem }),
    );
  }

  /** Has an answer that failed made again. */
  retry(): void {
    void this.#speak({ messages: [], trigger: 'regenerate-message' });
  }

  #change(more: Partial<ShownChat>): void {
    this.#show((old) => ({ ...old, ...more }));
  }

  #replace(message: ChatMessage): void {
    this.#show((old) => ({ ...old, messages: old.messages.map((one) => (one.id === message.id ? message : one)) }));
  }

  /** Reads a stream to its end. @returns whether there was one */
  async #take(response: Response, isWhole: boolean): Promise<boolean> {
    if (response.status === 204 || response.body === null) return false;
    for await (const { data } of readEvents(response.body)) {
      if (data === undefined || data === '[DONE]') continue;
      const chunk = JSON.parse(data) as ChatChunk;
      this.#show((old) => ({ ...old, ...takeChunk(old, chunk, isWhole) }));
    }
    return true;
  }

  /** Reads what is recorded, and follows the answer under way, until nothing is. */
  async #follow(): Promise<void> {
    const { signal } = this.#leaving;
    while (!signal.aborted) {
      try {
        const read = await ask<Pick<ShownChat, 'messages' | 'isUnderWay'>>(this.#path, { signal });
        this.#change({ ...read, isLoaded: true, problem: undefined });
        if (!read.isUnderWay || !(await this.#take(await send(`${this.#path}/stream`, { signal }), true))) break;
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof Problem && error.isFinal) {
          this.#change({ problem: error });
          break;
        }
        await new Promise((resolve) => setTimeout(resolve, retryMs));
      }
    }
    this.#change({ isUnderWay: false });
  }

  async #speak(posted: Posted, message?: ChatMessage): Promise<void> {
    const { signal } = this.#leaving;
    this.#show(({ messages }) => ({
      isLoaded: true,
      isUnderWay: true,
      messages: message === undefined ? messages : [...messages, message],
    }));
    try {
      const isWhole = posted.messages.at(-1)?.role !== 'assistant';
      await this.#take(await send(this.#path, { method: 'POST', body: posted, signal }), isWhole);
      this.#change({ isUnderWay: false });
    } catch (error) {
      if (signal.aborted) return;
      // It may have been taken: what is recorded tells.
      if (!(error instanceof Problem) || error.status < 400) return this.#follow();
      // What was not taken was not said.
      this.#show((old) => ({
        ...old,
        isUnderWay: false,
        problem: error,
        messages: old.messages.filter((one) => one !== message),
      }));
    }
  }
}

export function useChat(id: string): { readonly chat: ShownChat; readonly session: ChatSession } {
  const [chat, show] = useState<ShownChat>(nothing);
  const session = useMemo(() => new ChatSession(id, show), [id]);
  useEffect(() => session.open(), [session]);
  return { chat, session };
}
