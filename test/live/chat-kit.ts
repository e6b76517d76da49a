/** The AI SDK's own chat in Node, over a handler: what `useChat` does, without a browser. */
import { agent, type AgentConfig } from '../../src/agents/index.ts';
import { AgentGraph, outcome, START } from '../../src/index.ts';
import {
  AbstractChat,
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  type ChatState,
  type ChatStatus,
} from 'ai';
import type { ChatMessage } from '../../src/ai-sdk/index.ts';
import type { Handler } from '../../src/http/index.ts';

class State implements ChatState<ChatMessage> {
  status: ChatStatus = 'ready';
  error: Error | undefined;
  messages: ChatMessage[];

  constructor(messages: readonly ChatMessage[]) {
    this.messages = [...messages];
  }

  pushMessage = (message: ChatMessage): void => {
    this.messages = [...this.messages, message];
  };
  popMessage = (): void => {
    this.messages = this.messages.slice(0, -1);
  };
  replaceMessage = (index: number, message: ChatMessage): void => {
    this.messages = this.messages.map((old, at) => (at === index ? message : old));
  };
  snapshot = <T>(value: T): T => structuredClone(value);
}

export class NodeChat extends AbstractChat<ChatMessage> {
  /** @param fetch - reaches the handler at `/chat` */
  constructor(id: string, fetch: typeof globalThis.fetch, messages: readonly ChatMessage[] = [], isAutomatic = true) {
    super({
      id,
      state: new State(messages),
      transport: new DefaultChatTransport<ChatMessage>({ api: 'http://localhost/chat', fetch }),
      ...(isAutomatic && { sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses }),
    });
  }
}

/** What a page does that is opened or reloaded: reads the messages, and goes on with the one under way. */
export async function openPage(id: string, fetch: typeof globalThis.fetch): Promise<NodeChat> {
  const response = await fetch(`http://localhost/chat/${id}`);
  const { messages } = (await response.json()) as { readonly messages: readonly ChatMessage[] };
  return new NodeChat(id, fetch, messages);
}

/** Requests of a caller, without a network. */
export const fetchOf = (handler: Handler, token: string): typeof globalThis.fetch =>
  (async (url: string, init: RequestInit = {}) => {
    const headers = new Headers(init.headers);
    headers.set('authorization', `Bearer ${token}`);
    return handler(new Request(url, { ...init, headers }));
  }) as typeof globalThis.fetch;

/** What a reader of the page sees, as JSON: without fields that are undefined. */
export const shownOf = (chat: NodeChat): readonly ChatMessage[] =>
  JSON.parse(JSON.stringify(chat.messages)) as readonly ChatMessage[];

/** A conversation: a clerk answers, and listens for what the user says next. @param listen - the node that takes it */
export function conversation(
  clerk: Omit<AgentConfig, 'model' | 'prompt'>,
  listen = 'listen',
  name: 'clerk' | 'agent' = 'clerk',
) {
  return new AgentGraph({}, { id: 'support', reducers: { 'scratch.said': 'append' } })
    .addNode(
      name,
      agent({
        ...clerk,
        model: 'a:b',
        prompt: ({ state }) => {
          const { said = [] } = state.scratch as { said?: { role: 'user' | 'assistant'; content: string }[] };
          return [{ role: 'user', content: (state.input as { prompt: string }).prompt }, ...said];
        },
      }),
    )
    .addNode(listen, async (ctx) => {
      const { text } = (await ctx.receive('message')) as { text: string };
      const said = [
        { role: 'assistant', content: (ctx.state.outputs as Readonly<Record<string, unknown>>)[name] },
        { role: 'user', content: text },
      ];
      return outcome({ scratch: { said } });
    })
    .addEdge(START, name)
    .addEdge(name, listen)
    .addEdge(listen, name);
}
