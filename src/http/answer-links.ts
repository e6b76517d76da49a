/**
 * Answer links: whoever has one sees one question and answers it once, without an account (W10). A link is signed and bound to the question,
 * its words, a person and a time; the server stores no link, only the hash of the one that was used.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { OpenQuestion } from '../engine/api.ts';
import { choicesOf, nodeNameOf } from '../operations/waits/find-wait.ts';
import { giveAnswers, readQuestions } from '../operations/waits/give-answers.ts';
import { refuseUnknownKeys } from '../operations/contract/known-keys.ts';
import type { WorkContext } from '../operations/contract/operation.ts';
import { formatTime } from '../operations/format/time.ts';
import { CairnError } from '../errors.ts';
import type { Caller } from './authorize.ts';
import { HttpRefused } from './problem.ts';

export interface AnswerLinkOptions {
  /** What links are signed with: 32 characters or more, known to the server and to whoever makes links. Another one voids all links. */
  readonly secret: string;
  /** Where the server is for those who get links, with its `basePath`: `https://runs.example.org`. */
  readonly url: string;
}

/** For whom a link is. */
export interface LinkedPerson {
  /** The name under which the answer is recorded; the rules of the question (W8) hold for it. */
  readonly by: string;
  readonly roles?: readonly string[];
  /** How long the link can be used, in ms. Default: a day. */
  readonly validMs?: number;
  /** Whose runs these are. Default: the tenant of the server. */
  readonly tenant?: string;
}

/** Makes answer links, and is given to the server that takes them: `createHandler({ answerLinks })`. */
export interface AnswerLinks {
  /** The address at which this person answers the question. It is a secret of theirs: send it to nobody else, and log it nowhere. */
  linkFor(question: OpenQuestion, person: LinkedPerson): string;
  /** What a token says; undefined if it is none of these. */
  readonly read: (token: string) => LinkClaims | undefined;
}

/** What a link is bound to. */
export interface LinkClaims {
  readonly runId: string;
  readonly waitId: string;
  /** Hash of what is asked. */
  readonly asked: string;
  readonly by: string;
  readonly roles?: readonly string[];
  readonly tenant?: string;
  /** Epoch ms. */
  readonly expiresAt: number;
}

const dayMs = 86_400_000;
/** By this beginning texts that are shown mask it, as they mask tokens. */
const prefix = 'cairn_answer_';
const signatureChars = 43;

/** @throws CONFIG_INVALID the secret is too short, or the address is none */
export function createAnswerLinks(options: AnswerLinkOptions): AnswerLinks {
  refuseUnknownKeys('createAnswerLinks', options, ['secret', 'url']);
  const { secret, url } = options;
  const invalid = (reason: string): CairnError => new CairnError('CONFIG_INVALID', { path: 'answerLinks', reason });
  if (typeof secret !== 'string' || secret.length < 32) throw invalid('its secret has fewer than 32 characters');
  if (!/^https?:$/.test(URL.parse(url)?.protocol ?? ''))
    throw invalid('its url is no address such as https://runs.example.org');
  const sign = (text: string): string =>
    createHmac('sha256', `cairn answer link ${secret}`).update(text).digest('base64url');
  return {
    linkFor(question, person) {
      refuseUnknownKeys('linkFor', person, ['by', 'roles', 'validMs', 'tenant']);
      const { by, roles, validMs = dayMs, tenant } = person;
      const { runId, waitId } = question;
      const expiresAt = Date.now() + validMs;
      const claims: LinkClaims = {
        runId,
        waitId,
        asked: hashOf(question),
        by,
        expiresAt,
        ...(roles && { roles }),
        ...(tenant !== undefined && { tenant }),
      };
      const text = Buffer.from(JSON.stringify(claims)).toString('base64url');
      return `${url.replace(/\/$/, '')}/answer/${prefix}${sign(text)}${text}`;
    },
    read(token) {
      if (!token.startsWith(prefix)) return undefined;
      const [signature, text] = [
        token.slice(prefix.length, prefix.length + signatureChars),
        token.slice(prefix.length + signatureChars),
      ];
      const expected = Buffer.from(sign(text));
      const received = Buffer.from(signature);
      if (received.length !== expected.length || !timingSafeEqual(received, expected)) return undefined;
      return JSON.parse(Buffer.from(text, 'base64url').toString()) as LinkClaims;
    },
  };
}

/** What a link is bound to of a question: other words, or other people, void it. */
function hashOf({ prompt, choices, matching, schema, metadata, for: assignees, fourEyes }: OpenQuestion): string {
  const question = JSON.stringify([prompt, choices, matching, schema, metadata, assignees, fourEyes]);
  return createHash('sha256').update(question).digest('base64url');
}

/** Who calls by a link. */
export function callerOf({ by, roles, tenant }: LinkClaims): Caller {
  return {
    principal: by,
    kind: 'person',
    scopes: ['answer'],
    ...(roles && { roles }),
    ...(tenant !== undefined && { tenant }),
  };
}

/** What a request by a link is answered with. */
export interface LinkRequest {
  readonly claims: LinkClaims;
  readonly token: string;
  readonly context: WorkContext;
  /** The answer in its body. Undefined: it only looks, as scanners of mail do. */
  readonly value: string | undefined;
}

/** @throws 410 the link is too old, or its question is not open any more or asks something else; ANSWER_RESERVED, ANSWER_INVALID */
export async function answerByLink({ claims, token, context, value }: LinkRequest): Promise<Response> {
  const { runId, waitId, expiresAt, by, asked } = claims;
  if (context.now() >= expiresAt) throw new HttpRefused(410, 'this link is too old');
  const { waits } = await readQuestions(context, runId);
  const wait = waits.find((open) => open.waitId === waitId);
  if (wait === undefined || wait.isAnswered === true)
    throw new HttpRefused(410, 'this question was answered, or is not asked any more');
  if (hashOf(wait) !== asked) throw new HttpRefused(410, 'this question has changed since the link was made');
  if (value === undefined) return page(questionPage(wait, claims));
  const acting: WorkContext['acting'] = {
    ...context.acting,
    door: 'link',
    link: createHash('sha256').update(token).digest('base64url'),
  };
  try {
    const { answered } = await giveAnswers({ ...context, acting }, runId, [[waitId, value]], by);
    return page(
      `<p>Recorded: <strong>${escaped(JSON.stringify(answered[0]?.value))}</strong></p><p>You may close this page.</p>`,
    );
  } catch (error) {
    if (CairnError.is(error, 'WAIT_CLOSED', 'WAIT_NOT_FOUND'))
      throw new HttpRefused(410, 'this question was answered already');
    if (!CairnError.is(error, 'ANSWER_INVALID', 'ANSWER_RESERVED')) throw error;
    return page(`<p role="alert">${escaped(error.message)}</p>${questionPage(wait, claims)}`, 422);
  }
}

/** A form without scripts. */
function questionPage(wait: OpenQuestion, { by, expiresAt }: LinkClaims): string {
  const choices = choicesOf(wait) ?? [];
  const buttons = choices.map(({ value, label }) => {
    const typed = typeof value === 'string' ? value : JSON.stringify(value);
    return `<button name="value" value="${escaped(typed)}">${escaped(label)}</button>`;
  });
  const isOpen = choices.length === 0 || wait.matching === 'open';
  const field = '<input name="value" aria-label="Your answer" required autofocus> <button>Answer</button>';
  const form = (inner: string): string => `<form method="post">${inner}</form>`;
  return [
    `<h1>${escaped(wait.prompt ?? nodeNameOf(wait))}</h1>`,
    `<p class="quiet">${escaped(nodeNameOf(wait))} of ${escaped(wait.runId)}. You answer as ${escaped(by)}, until ${escaped(formatTime(expiresAt))}.</p>`,
    ...(buttons.length > 0 ? [form(buttons.join(' '))] : []),
    ...(isOpen ? [form(field)] : []),
  ].join('\n');
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (sign) => entities[sign] ?? sign);
}

const style =
  'body{font:1rem/1.5 system-ui;max-width:40rem;margin:10vh auto;padding:0 1rem}h1{font-size:1.25rem;white-space:pre-wrap}.quiet{opacity:.7}button,input{font:inherit;padding:.4rem .8rem}';
const styleHash = createHash('sha256').update(style).digest('base64');

/** Nothing of the page leads anywhere else, and no search engine or shared cache keeps it. */
function page(body: string, status = 200): Response {
  const html = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="robots" content="noindex"><title>Question</title><style>${style}</style><main>${body}</main></html>`;
  return new Response(html, {
    status,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': `default-src 'none'; style-src 'sha256-${styleHash}'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'`,
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'x-robots-tag': 'noindex',
    },
  });
}

/** A refusal as people read it. */
export function linkRefusal(title: string, status: number): Response {
  return page(`<h1>${escaped(title)}</h1>`, status);
}
