/**
 * What the server of a tool asks its caller's person in the middle of a call (MCP calls it elicitation): to fill in a form, or to open a
 * link. A call is made within seconds and a person answers within days, so the call ends there, the question becomes one of the run, and
 * with its answer the call is made again.
 */
import { NodeFailure, type NodeContext, type Question } from '../../graph/contracts/node-contract.ts';
import type { JsonSchema } from '../../graph/contracts/node-type.ts';
import { canonicalText } from '../../state/values/canonical-text.ts';
import { isPlainObject } from '../../state/values/plain-object.ts';

/** A form to fill in, or a link to open. */
export type ServerQuestion =
  | { readonly message: string; readonly schema: JsonSchema }
  | { readonly message: string; readonly url: string };

export interface AnsweredQuestion {
  readonly question: ServerQuestion;
  /** What the server is told. */
  readonly reply: ElicitReply;
}

/** The reply in the format of MCP. */
export type ElicitReply =
  | { readonly action: 'accept'; readonly content?: Readonly<Record<string, string | number | boolean | string[]>> }
  | { readonly action: 'decline' | 'cancel' };

/** Code of the failure of a call in which the server asked. */
const code = 'MCP_ASKS';
/** JSON-RPC code of a server that wants links to be opened before the call. */
const linksFirst = -32_042;
const done = 'done';
const decline = 'decline';

/** The question in a request of a server; undefined if it is none that can be shown. */
export function questionIn(params: unknown): ServerQuestion | undefined {
  if (!isPlainObject(params)) return undefined;
  const { message, url, requestedSchema } = params;
  if (typeof message !== 'string') return undefined;
  if (typeof url === 'string') return { message, url };
  return isPlainObject(requestedSchema) ? { message, schema: requestedSchema } : undefined;
}

/** The questions in an error with which a server refused a call until links are opened. */
export function questionsInError(error: unknown): readonly ServerQuestion[] {
  const { code: own, data } = (error ?? {}) as { readonly code?: unknown; readonly data?: unknown };
  const listed = own === linksFirst && isPlainObject(data) ? data['elicitations'] : undefined;
  return Array.isArray(listed) ? listed.flatMap((one) => questionIn(one) ?? []) : [];
}

export const isSameQuestion = (a: ServerQuestion, b: ServerQuestion): boolean => canonicalText(a) === canonicalText(b);

/** The failure of a call that ended with questions. The server was told that nobody answered, so nothing was done. */
export function askedFailure(server: string, tool: string, questions: readonly ServerQuestion[]): NodeFailure {
  const said = questions.map(({ message }) => message).join('; ');
  return new NodeFailure(`the MCP server ${server} asks before ${tool}: ${said}`, {
    code,
    applied: 'no',
    data: { server, questions },
  });
}

/** The questions with which a call ended; undefined if it ended otherwise. */
export function questionsOf(
  error: unknown,
): { readonly server: string; readonly questions: readonly ServerQuestion[] } | undefined {
  const { code: own, data } = (error ?? {}) as { readonly code?: unknown; readonly data?: unknown };
  if (own !== code || !isPlainObject(data) || !Array.isArray(data['questions'])) return undefined;
  return { server: String(data['server']), questions: data['questions'] as readonly ServerQuestion[] };
}

/** Asks the person, durably. @param name - of the question @param tool - the tool that was called */
export async function askForServer(
  ctx: NodeContext,
  question: ServerQuestion,
  {
    name,
    tool,
    server,
    audience,
  }: { readonly name: string; readonly tool: string; readonly server: string; readonly audience: Question['audience'] },
): Promise<AnsweredQuestion> {
  const who = `The MCP server ${server} asks, for the call of ${tool}:`;
  const about = {
    name,
    metadata: { server, tool, ...('url' in question && { url: question.url }) },
    ...(audience && { audience }),
  };
  if ('url' in question) {
    const prompt = `${who} ${question.message}\nOpen this link only if you trust the server: ${question.url}`;
    const answer = await ctx.ask({ ...about, prompt, choices: [done, decline] });
    return { question, reply: { action: answer === done ? 'accept' : 'decline' } };
  }
  const schema = { anyOf: [question.schema, { const: decline }] };
  const prompt = `${who} ${question.message}\nAnswer with what it asks for, or "${decline}".`;
  const answer: unknown = await ctx.ask({ ...about, prompt, schema });
  if (!isPlainObject(answer)) return { question, reply: { action: 'decline' } };
  return { question, reply: { action: 'accept', content: answer as Record<string, string> } };
}
