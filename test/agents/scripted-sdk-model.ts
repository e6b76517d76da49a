/** A model of the AI SDK whose answers follow from the conversation: it speaks whole and in pieces, and counts what it was asked. */
import type { SdkModel } from '../../src/ai-sdk/index.ts';

export type CallOptions = Parameters<SdkModel['doGenerate']>[0];
export type Content = Awaited<ReturnType<SdkModel['doGenerate']>>['content'][number];
type StreamPart = Awaited<ReturnType<SdkModel['doStream']>>['stream'] extends ReadableStream<infer Part> ? Part : never;

/** A text, or what is called by which arguments. Errors are thrown. */
export type Turn =
  | string
  | Error
  | {
      readonly text?: string;
      readonly calls?: readonly (readonly [tool: string, input: unknown])[];
      /** Whether it ends at the limit of its tokens. */
      readonly isCut?: boolean;
    };

interface Answer {
  readonly content: Content[];
  readonly finishReason: { readonly unified: 'tool-calls' | 'stop' | 'length'; readonly raw: string };
}

export interface ScriptedSdkModel extends SdkModel {
  readonly requests: readonly CallOptions[];
}

const usage = {
  inputTokens: { total: 10, noCache: 10, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 5, text: 5, reasoning: undefined },
};

/** @param script - answers in order of the conversation's turns, or a function of the request */
export function scriptedSdkModel(
  script: readonly Turn[] | ((options: CallOptions, count: number) => Turn),
  { modelId = 'scripted', onCall = () => {} }: { readonly modelId?: string; readonly onCall?: () => void } = {},
): ScriptedSdkModel {
  const requests: CallOptions[] = [];
  const turnOf = (options: CallOptions): Turn => {
    onCall();
    const count = requests.push(options) - 1;
    const answered = options.prompt.filter(({ role }) => role === 'assistant').length;
    return typeof script === 'function'
      ? script(options, count)
      : (script[answered] ?? new Error('the script has no more answers'));
  };
  const answerOf = (options: CallOptions): Answer => {
    const turn = turnOf(options);
    if (turn instanceof Error) throw turn;
    const { text, calls = [], isCut = false } = typeof turn === 'string' ? { text: turn } : turn;
    const answered = options.prompt.filter(({ role }) => role === 'assistant').length;
    const content: Content[] = [
      ...(text === undefined ? [] : [{ type: 'text' as const, text }]),
      ...calls.map(([toolName, input], index) => ({
        type: 'tool-call' as const,
        toolCallId: `call-${answered}-${index}`,
        toolName,
        // A text is as the model wrote it.
        input: typeof input === 'string' ? input : JSON.stringify(input),
      })),
    ];
    const unified = isCut ? 'length' : calls.length > 0 ? 'tool-calls' : 'stop';
    return { content, finishReason: { unified, raw: unified } };
  };
  const secret = { headers: { 'set-cookie': 'session=planted' }, body: { echoed: 'planted body' } };
  return {
    specificationVersion: 'v4',
    provider: 'test',
    modelId,
    supportedUrls: {},
    requests,
    async doGenerate(options) {
      const { content, finishReason } = answerOf(options);
      const request = { body: 'planted request' };
      return { content, finishReason, usage, warnings: [], request, response: secret };
    },
    async doStream(options) {
      return { stream: ReadableStream.from(pieces(answerOf(options))), response: secret };
    },
  };
}

function* pieces({ content, finishReason }: Answer): Generator<StreamPart> {
  yield { type: 'stream-start', warnings: [] };
  for (const [index, part] of content.entries()) {
    const id = String(index);
    if (part.type === 'text') {
      yield { type: 'text-start', id };
      for (const delta of part.text.match(/\S+\s*/gu) ?? []) yield { type: 'text-delta', id, delta };
      yield { type: 'text-end', id };
    } else if (part.type === 'tool-call') {
      yield { type: 'tool-input-start', id: part.toolCallId, toolName: part.toolName };
      yield { type: 'tool-input-delta', id: part.toolCallId, delta: part.input };
      yield { type: 'tool-input-end', id: part.toolCallId };
      yield part;
    }
  }
  yield { type: 'finish', finishReason, usage };
}
