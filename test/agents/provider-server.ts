/** A local server that speaks the protocols of OpenAI (responses, chat completions) and Anthropic (messages), whole and in pieces. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What the server answers with, in whatever protocol it is asked. */
export interface ServerTurn {
  readonly text?: string;
  readonly calls?: readonly { readonly id: string; readonly tool: string; readonly input: object }[];
  /** An error of the protocol in place of an answer. */
  readonly status?: number;
  readonly retryAfter?: string;
  /** Streams: after the first piece the connection breaks, the server says that it failed, or the stream ends as if it were over. */
  readonly breaks?: 'cut' | 'error' | 'end';
}

export interface ServerCall {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface ProviderServer {
  readonly url: string;
  readonly calls: ServerCall[];
  /** Answers of the next calls, in order; then the last again. */
  answer(...turns: readonly ServerTurn[]): void;
  close(): Promise<unknown>;
}

type Protocol = 'responses' | 'chat' | 'messages';

const protocolOf = (path: string): Protocol =>
  path.endsWith('/responses') ? 'responses' : path.endsWith('/messages') ? 'messages' : 'chat';

export async function startProviderServer(): Promise<ProviderServer> {
  const calls: ServerCall[] = [];
  let turns: ServerTurn[] = [];
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk: Buffer) => (text += chunk.toString()));
    request.on('end', () => {
      const body = JSON.parse(text) as ServerCall['body'];
      const path = request.url ?? '';
      calls.push({ path, headers: request.headers, body });
      const turn = (turns.length > 1 ? turns.shift() : turns[0]) ?? {};
      reply(response, protocolOf(path), turn, body['stream'] === true);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    calls,
    answer: (...given) => {
      calls.length = 0;
      turns = [...given];
    },
    close: () => new Promise((resolve) => server.close(resolve)),
  };
}

function reply(response: ServerResponse, protocol: Protocol, turn: ServerTurn, isStreamed: boolean): void {
  const { status, retryAfter, breaks } = turn;
  if (status !== undefined) {
    response.writeHead(status, {
      'content-type': 'application/json',
      ...(retryAfter !== undefined && { 'retry-after': retryAfter }),
    });
    response.end(JSON.stringify({ type: 'error', error: { type: 'refused', message: `status ${status}` } }));
    return;
  }
  if (!isStreamed) {
    response.writeHead(200, { 'content-type': 'application/json', 'set-cookie': 'planted' });
    response.end(JSON.stringify(whole[protocol](turn)));
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const events = streamed[protocol](turn);
  if (breaks === undefined)
    response.end(`${events.map(eventText).join('')}${protocol === 'chat' ? 'data: [DONE]\n\n' : ''}`);
  else if (breaks === 'error')
    response.end([...events.slice(0, begun[protocol]), failed[protocol]].map(eventText).join(''));
  else if (breaks === 'end') response.end(events.slice(0, begun[protocol]).map(eventText).join(''));
  else response.write(events.slice(0, begun[protocol]).map(eventText).join(''), () => response.destroy());
}

function eventText(event: object): string {
  const { type } = event as { readonly type?: string };
  return `${type === undefined ? '' : `event: ${type}\n`}data: ${JSON.stringify(event)}\n\n`;
}

/** Events up to the first piece of text. */
const begun: Readonly<Record<Protocol, number>> = { responses: 3, chat: 1, messages: 3 };
const overloaded = { type: 'overloaded_error', message: 'overloaded', code: 'overloaded' };
const failed: Readonly<Record<Protocol, object>> = {
  responses: { type: 'error', sequence_number: 9, error: overloaded },
  chat: { error: overloaded },
  messages: { type: 'error', error: overloaded },
};

const reasonOf = ({ calls = [] }: ServerTurn, called: string, said: string): string =>
  calls.length > 0 ? called : said;
const head = { id: 'answer-1', model: 'served-model' };

const whole: Readonly<Record<Protocol, (turn: ServerTurn) => object>> = {
  chat: (turn) => ({
    ...head,
    object: 'chat.completion',
    created: 1,
    choices: [{ index: 0, message: chatMessage(turn), finish_reason: reasonOf(turn, 'tool_calls', 'stop') }],
    usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
  }),
  responses: (turn) => ({ ...responseHead, status: 'completed', output: outputItems(turn), usage: responseUsage }),
  messages: (turn) => ({
    ...head,
    type: 'message',
    role: 'assistant',
    content: [
      ...(turn.text === undefined ? [] : [{ type: 'text', text: turn.text }]),
      ...(turn.calls ?? []).map(({ id, tool, input }) => ({ type: 'tool_use', id, name: tool, input })),
    ],
    stop_reason: reasonOf(turn, 'tool_use', 'end_turn'),
    stop_sequence: null,
    usage: { input_tokens: 10, output_tokens: 5 },
  }),
};

function chatMessage({
  text = null,
  calls = [],
}: Omit<ServerTurn, 'text'> & { readonly text?: string | null }): object {
  const made = calls.map(({ id, tool, input }, index) => ({
    index,
    id,
    type: 'function',
    function: { name: tool, arguments: JSON.stringify(input) },
  }));
  return { role: 'assistant', content: text, ...(made.length > 0 && { tool_calls: made }) };
}

const responseHead = { ...head, object: 'response', created_at: 1 };
const responseUsage = { input_tokens: 10, output_tokens: 5, total_tokens: 15 };

function outputItems({ text, calls = [] }: ServerTurn): readonly object[] {
  const content = [{ type: 'output_text', text: text ?? '', annotations: [] }];
  const said =
    text === undefined ? [] : [{ type: 'message', id: 'item-0', role: 'assistant', status: 'completed', content }];
  const made = calls.map(({ id, tool, input }, index) => ({
    type: 'function_call',
    id: `item-${index + 1}`,
    call_id: id,
    name: tool,
    arguments: JSON.stringify(input),
    status: 'completed',
  }));
  return [...said, ...made];
}

const streamed: Readonly<Record<Protocol, (turn: ServerTurn) => readonly object[]>> = {
  chat: (turn) => {
    const chunk = (delta: object, finish: string | null = null): object => ({
      ...head,
      object: 'chat.completion.chunk',
      created: 1,
      choices: [{ index: 0, delta, finish_reason: finish }],
    });
    const { calls = [], text } = turn;
    return [
      ...(text === undefined ? [] : piecesOf(text).map((content) => chunk({ role: 'assistant', content }))),
      ...(calls.length === 0 ? [] : [chunk({ ...chatMessage({ calls }), content: null })]),
      {
        ...chunk({}, reasonOf(turn, 'tool_calls', 'stop')),
        usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
      },
    ];
  },
  responses: (turn) => {
    const events = outputItems(turn).flatMap((item, at): readonly object[] => {
      const { type, id } = item as { readonly type: string; readonly id: string };
      const place = { output_index: at, item_id: id };
      const begun = {
        type: 'response.output_item.added',
        output_index: at,
        item: { ...item, status: 'in_progress', ...(type === 'message' ? { content: [] } : { arguments: '' }) },
      };
      const pieces =
        type === 'message'
          ? piecesOf(turn.text ?? '').map((delta) => ({
              type: 'response.output_text.delta',
              ...place,
              content_index: 0,
              delta,
            }))
          : [
              {
                type: 'response.function_call_arguments.delta',
                ...place,
                delta: (item as { readonly arguments: string }).arguments,
              },
            ];
      return [begun, ...pieces, { type: 'response.output_item.done', output_index: at, item }];
    });
    const response = { ...responseHead, status: 'in_progress', output: [] };
    return [
      { type: 'response.created', response },
      ...events,
      { type: 'response.completed', response: { ...response, status: 'completed', usage: responseUsage } },
    ];
  },
  messages: (turn) => {
    const { text, calls = [] } = turn;
    const block = (index: number, start: object, deltas: readonly object[]): readonly object[] => [
      { type: 'content_block_start', index, content_block: start },
      ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
      { type: 'content_block_stop', index },
    ];
    const offset = text === undefined ? 0 : 1;
    return [
      {
        type: 'message_start',
        message: {
          ...head,
          type: 'message',
          role: 'assistant',
          content: [],
          stop_reason: null,
          stop_sequence: null,
          usage: { input_tokens: 10, output_tokens: 1 },
        },
      },
      ...(text === undefined
        ? []
        : block(
            0,
            { type: 'text', text: '' },
            piecesOf(text).map((piece) => ({ type: 'text_delta', text: piece })),
          )),
      ...calls.flatMap(({ id, tool, input }, index) =>
        block(index + offset, { type: 'tool_use', id, name: tool, input: {} }, [
          { type: 'input_json_delta', partial_json: JSON.stringify(input) },
        ]),
      ),
      {
        type: 'message_delta',
        delta: { stop_reason: reasonOf(turn, 'tool_use', 'end_turn'), stop_sequence: null },
        usage: { output_tokens: 5 },
      },
      { type: 'message_stop' },
    ];
  },
};

function piecesOf(text: string): readonly string[] {
  return text.match(/\S+\s*/gu) ?? [];
}
