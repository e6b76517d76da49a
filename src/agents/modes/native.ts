/** The mode `native`: the provider's own tool calls. The request lists the tools, and the answer contains the calls. */
import { textOf, type ToolCallPart, type ToolResultPart } from '../../graph/contracts/model-contract.ts';
import type { Mode, Offer, ToldResult } from './mode.ts';

const nothing: ToldResult = { output: null };

export function nativeMode({ tools, answer }: Offer): Mode {
  return {
    request: { ...(tools.length > 0 && { tools }), ...(answer !== undefined && { schema: answer }) },
    guide: undefined,
    read: ({ content }) => {
      // Calls that the provider has made itself need no further work.
      const calls = content.filter(
        (part): part is ToolCallPart => part.type === 'tool-call' && part.isProviderExecuted !== true,
      );
      const message = { role: 'assistant', content: content.length === 0 ? '(nothing)' : content } as const;
      if (calls.length > 0) return { message, calls };
      const text = textOf(content);
      // A model with tools sometimes returns an empty answer by mistake. Without tools, an empty answer may be meant.
      const isSilent = tools.length > 0 && text.trim() === '';
      return isSilent ? { message, calls, fault: 'it is empty' } : { message, calls, last: { text } };
    },
    tell: (calls, results) => ({
      role: 'tool',
      content: calls.map(({ id, tool }, index): ToolResultPart => {
        const { output, parts, isError } = results[index] ?? nothing;
        return {
          type: 'tool-result',
          id,
          tool,
          output,
          ...(parts !== undefined && { parts }),
          ...(isError === true && { isError }),
        };
      }),
    }),
  };
}
