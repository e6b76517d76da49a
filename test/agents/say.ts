/** What a model says in each mode when it wants tools, and when it is done: sloppily, as models do. */
import type { ModeName } from '../../src/agents/modes/text-modes.ts';
import type { ScriptedTurn } from '../../src/models/scripted.ts';

export interface SaidCall {
  readonly tool: string;
  readonly input: Readonly<Record<string, unknown>>;
  /** Its arguments cannot be read, or do not fit where the provider reads them. */
  readonly isBroken?: boolean;
}

function inputText({ input, isBroken }: SaidCall): string {
  return isBroken === true ? '{"n": ' : JSON.stringify(input);
}

export function sayCalls(mode: ModeName, thought: string, calls: readonly SaidCall[]): ScriptedTurn | string {
  if (mode === 'native')
    return {
      text: thought,
      calls: calls.map(({ tool, input }, index) => ({ tool, input, id: `${thought.replace(' ', '-')}-${index}` })),
    };
  if (mode === 'json') {
    const said = calls.map((call) => ({
      tool: call.tool,
      input: call.isBroken === true ? inputText(call) : call.input,
    }));
    return `Sure:\n\`\`\`json\n${JSON.stringify({ thought, calls: said, answer: null })}\n\`\`\``;
  }
  if (mode === 'xml') {
    const tags = calls.map((call) => `<call tool='${call.tool}'>\n${inputText(call)}\n</call>`);
    // What comes after the calls is made up.
    return `<thought>${thought}</thought>\n${tags.join('\n')}\n<answer>made up</answer>`;
  }
  const lines = calls.map((call) => `**Action:** ${call.tool}\nAction Input: ${inputText(call)}`);
  return `Thought: ${thought}\n${lines.join('\n')}\nObservation: made up\nFinal Answer: made up`;
}

export function sayAnswer(mode: ModeName, text: string): string {
  if (mode === 'json') return JSON.stringify({ thought: 'done', calls: [], answer: text });
  if (mode === 'xml') return `<thought>done</thought><answer>${text}`;
  return mode === 'react' ? `Thought: done\nFinal Answer: ${text}` : text;
}
