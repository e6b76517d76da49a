/**
 * Stands for a model that reviews code: it works with the tools it is offered, as a model does, and judges by rules what they show. The
 * cassette of this example was recorded with it; with an account, record it with a real model: see record.ts.
 */
import {
  createScriptedModels,
  type ModelMessage,
  type ScriptedCall,
  type ScriptedTurn,
  type Models,
} from '../../src/models/index.ts';
import type { Finding } from './graph.ts';

interface Rule extends Omit<Finding, 'file' | 'line'> {
  readonly pattern: string;
}

const rules: readonly Rule[] = [
  {
    pattern: String.raw`catch *(\(\w*\) *)?\{ *\}`,
    severity: 'high',
    title: 'A failure is swallowed',
    advice: 'Nobody learns that this failed, and what follows works with what is not there. Handle it, or let it pass.',
  },
  {
    pattern: String.raw`\beval\(`,
    severity: 'high',
    title: 'Text is run as code',
    advice: 'Whoever can change this text runs programs here. Read it as data.',
  },
  {
    pattern: String.raw`Math\.random\(\)`,
    severity: 'medium',
    title: 'Chance that can be guessed',
    advice: 'If this names or protects something, take crypto.randomUUID().',
  },
  {
    pattern: String.raw`\b(TODO|FIXME)\b`,
    severity: 'low',
    title: 'Unfinished work',
    advice: 'Finish it, or say in an issue what is missing.',
  },
];

/** The results of a tool so far, with the arguments of their calls. */
function resultsOf(
  messages: readonly ModelMessage[],
  tool: string,
): readonly (readonly [input: unknown, output: string])[] {
  const parts = messages.flatMap(({ content }) => (typeof content === 'string' ? [] : [...content]));
  const inputs = new Map(parts.flatMap((part) => (part.type === 'tool-call' ? [[part.id, part.input] as const] : [])));
  return parts.flatMap((part) =>
    part.type === 'tool-result' && part.tool === tool
      ? [[inputs.get(part.id), typeof part.output === 'string' ? part.output : JSON.stringify(part.output)] as const]
      : [],
  );
}

const filesMax = 8;

/** First it looks around, then it searches, then it reads what it found, then it judges. */
function nextTurn(messages: readonly ModelMessage[]): ScriptedTurn {
  const turn = messages.filter(({ role }) => role === 'assistant').length;
  const calls = (list: readonly ScriptedCall[]): ScriptedTurn => ({
    calls: list.map((call, index) => ({
      id: `call-${turn}-${index}`,
      ...call,
    })),
  });
  if (turn === 0)
    return calls([
      { tool: 'list_files', input: {} },
      {
        tool: 'shell',
        input: { command: ['git', 'log', '--format=%s', '-10'] },
      },
    ]);
  if (turn === 1)
    return calls([
      {
        tool: 'search_files',
        input: { pattern: rules.map(({ pattern }) => pattern).join('|') },
      },
    ]);
  const hits = resultsOf(messages, 'search_files')[0]?.[1] ?? '';
  const paths = [...new Set([...hits.matchAll(/^([^:\n]+):\d+: /gmu)].map(([, path = '']) => path))].slice(0, filesMax);
  if (turn === 2 && paths.length > 0) return calls(paths.map((path) => ({ tool: 'read_file', input: { path } })));
  return { text: JSON.stringify({ findings: judge(messages) }) };
}

function judge(messages: readonly ModelMessage[]): readonly Finding[] {
  return resultsOf(messages, 'read_file').flatMap(([input, text]) => {
    const { path } = input as { readonly path: string };
    return text
      .split('\n')
      .flatMap((line, index) =>
        rules
          .filter(({ pattern }) => new RegExp(pattern, 'u').test(line))
          .map(({ severity, title, advice }) => ({ file: path, line: index + 1, severity, title, advice })),
      );
  });
}

export function createReviewer(): Models {
  return createScriptedModels(({ messages }) => nextTurn(messages));
}
