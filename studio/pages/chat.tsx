/** A chat with an agent: what it says as it comes, what it does, and what it waits for, in place. */
import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { me, may } from '../data/api.ts';
import { toolNameOf, type ChatWait, type MessagePart } from '../../src/ai-sdk/message-parts.ts';
import { isThinking, type ChatMessage } from '../data/chat.ts';
import type { JsonSchema } from '../data/types.ts';
import { useChat, type ChatSession, type ShownChat } from '../data/use-chat.ts';
import { AnswerForm, ChoiceButtons } from '../parts/answer.tsx';
import { Awaited, Copy, Empty, now, Trouble } from '../parts/common.tsx';
import { Icon, Mark } from '../parts/icons.tsx';
import { Inline, LongText } from '../parts/value.tsx';
import { goTo, linkTo, linkToRun, readParam } from '../url.ts';
import { age, command } from '../words.ts';
import '../style/run.css';
import '../style/chat.css';

interface KnownChat {
  readonly id: string;
  readonly title: string;
  /** Epoch ms. */
  readonly at: number;
}

const knownMax = 50;
const titleMax = 60;
const keyOf = (): string => `cairn.chats ${me.value?.principal} ${me.value?.chat?.graph}`;

function readKnown(): readonly KnownChat[] {
  try {
    const read = JSON.parse(localStorage.getItem(keyOf()) ?? '[]') as readonly KnownChat[];
    return Array.isArray(read)
      ? read.filter(({ id, title }) => typeof id === 'string' && typeof title === 'string')
      : [];
  } catch {
    return [];
  }
}

/** The chats that were begun in this browser. */
const known = signal<readonly KnownChat[]>([]);

function remember(id: string, title: string): void {
  const others = readKnown().filter((chat) => chat.id !== id);
  const old = readKnown().find((chat) => chat.id === id);
  known.value = [{ id, title: old?.title ?? title.slice(0, titleMax), at: Date.now() }, ...others].slice(0, knownMax);
  localStorage.setItem(keyOf(), JSON.stringify(known.value));
}

export function ChatPage(): JSX.Element {
  const about = me.value?.chat;
  const id = readParam('id');
  useLayoutEffect(() => {
    known.value = readKnown();
    // A chat that nobody began has a name already, so that a reload in its first answer finds it.
    if (id === undefined && about !== undefined)
      goTo(linkTo('talk', { id: crypto.randomUUID().slice(0, 13) }), { replaces: true });
  }, [id, about]);
  if (about === undefined)
    return (
      <Empty title="There is no agent to chat with">
        <p>
          Name the node of an agent in the configuration, and its graph among the modules: chat:{' '}
          {'{ node: clerk, graph: support }'}. Each chat is a run then, and keeps where it was when a process dies.
        </p>
        <Copy text={command('studio', '--modules', 'graph.ts')} />
      </Empty>
    );
  return (
    <div class="page chat-page">
      <nav class="chat-list" aria-label="Chats">
        <a class="button" href={linkTo('talk')}>
          <Icon name="plus" size={14} />
          New chat
        </a>
        {known.value.map((chat) => (
          <a
            class="chat-link"
            href={linkTo('talk', { id: chat.id })}
            aria-current={chat.id === id ? 'true' : undefined}
            title={chat.title}
          >
            <span class="cut">{chat.title}</span>
            <span class="quiet tiny">{`${age(Math.max(0, now.value - chat.at))} ago`}</span>
          </a>
        ))}
      </nav>
      {id !== undefined && <Conversation key={id} id={id} agent={about.node} />}
    </div>
  );
}

function Conversation({ id, agent }: { readonly id: string; readonly agent: string }): JSX.Element {
  const { chat, session } = useChat(id);
  const { messages, isLoaded, isUnderWay, problem, failure } = chat;
  const end = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  // Who reads above is not pulled down.
  useLayoutEffect(() => {
    if (isAtEnd.current) end.current?.scrollIntoView({ block: 'end' });
  }, [messages, isUnderWay]);
  useEffect(() => {
    const look = (): void => {
      const { scrollHeight, clientHeight, scrollTop } = document.documentElement;
      isAtEnd.current = scrollHeight - clientHeight - scrollTop < 80;
    };
    addEventListener('scroll', look, { passive: true });
    return () => removeEventListener('scroll', look);
  }, []);
  // The id of an answer: its run, which may hold colons, then the node and the number of the visit.
  const runId = messages.find(({ role }) => role === 'assistant')?.id.replace(/:[^:]*:\d+$/u, '');
  return (
    <section class="chat" aria-label={`Chat with ${agent}`}>
      <header class="page-head">
        <h1 class="foreign">{agent}</h1>
        {isUnderWay && (
          <span class="badge" data-tone="running">
            <Icon name="live" size={12} />
            answering
          </span>
        )}
        {runId !== undefined && may('read') && (
          <a class="linked small push" href={linkToRun(runId)}>
            Its run
          </a>
        )}
      </header>
      {!isLoaded && problem === undefined && <Awaited lines={4} />}
      {isLoaded && messages.length === 0 && (
        <div class="chat-empty">
          <h2>{`Say something to ${agent}`}</h2>
          <p class="quiet">
            What it says comes as it is said. Where it wants to do something that needs your word, it asks here. The
            chat is a run: it is kept, goes on after a crash, and can be read and forked like any other.
          </p>
        </div>
      )}
      <ol class="messages" aria-label="Conversation" aria-live="polite">
        {messages.map((message) => (
          <Message key={message.id} message={message} agent={agent} session={session} isBusy={isUnderWay} />
        ))}
        {isThinking(isUnderWay, messages) && (
          <li class="assistant">
            <span class="quiet small">thinking…</span>
          </li>
        )}
      </ol>
      {failure !== undefined && !isUnderWay && (
        <div class="note row" data-tone="failed" role="alert">
          <Mark tone="failed" />
          <span class="foreign">{failure}</span>
          <button type="button" class="button push" onClick={() => session.retry()}>
            Try again
          </button>
        </div>
      )}
      {problem !== undefined && <Trouble problem={problem} />}
      <Composer chat={chat} session={session} agent={agent} onSent={(text) => remember(id, text)} />
      <div ref={end} />
    </section>
  );
}

interface MessageProps {
  readonly message: ChatMessage;
  readonly agent: string;
  readonly session: ChatSession;
  readonly isBusy: boolean;
}

function Message({ message, agent, session, isBusy }: MessageProps): JSX.Element {
  const { role, parts, metadata: { waits = [] } = {} } = message;
  // A call that waits for approval has its buttons itself.
  const questions = waits.filter(({ toolCallId }) => !hasApproval(parts, toolCallId));
  return (
    <li class={role}>
      <span class="hidden-text">{role === 'user' ? 'You said: ' : `${agent}: `}</span>
      {parts.map((part, index) => (
        <Part key={part.toolCallId ?? index} part={part} message={message} session={session} isBusy={isBusy} />
      ))}
      {questions.map((wait) => (
        <Question
          key={wait.waitId ?? wait.toolCallId}
          wait={wait}
          message={message}
          session={session}
          isBusy={isBusy}
        />
      ))}
    </li>
  );
}

const hasApproval = (parts: readonly MessagePart[], toolCallId: string | undefined): boolean =>
  parts.some(
    ({ toolCallId: id, state }) => id !== undefined && id === toolCallId && state?.startsWith('approval-') === true,
  );

const callWords: Readonly<Record<string, string>> = {
  'input-available': 'is under way',
  'approval-requested': 'waits for your approval',
  'output-available': 'gave',
  'output-error': 'failed',
  'output-denied': 'was refused',
};

interface PartProps {
  readonly part: MessagePart;
  readonly message: ChatMessage;
  readonly session: ChatSession;
  readonly isBusy: boolean;
}

function Part({ part, message, session, isBusy }: PartProps): JSX.Element | null {
  const { type, text = '', state = '', toolCallId = '', input, output, errorText, approval } = part;
  const toolName = toolNameOf(part);
  if (type === 'text')
    return text === '' ? null : (
      <p class="said">
        <LongText text={text} max={20_000} />
      </p>
    );
  if (type === 'reasoning')
    return text === '' ? null : (
      <p class="quiet reasoning small">
        <LongText text={text} />
      </p>
    );
  if (toolName === undefined) return null;
  const isRequested = state === 'approval-requested';
  const tone =
    state === 'output-error'
      ? 'failed'
      : isRequested
        ? 'waiting'
        : state === 'output-available'
          ? 'completed'
          : 'running';
  return (
    <div
      class={`chat-call${isRequested ? ' asks' : ''}`}
      data-tone={tone}
      role={isRequested ? 'group' : undefined}
      aria-label={isRequested ? `Approval of ${toolName}` : undefined}
    >
      <p class="row wrap small">
        <Mark tone={state === 'output-denied' ? 'cancelled' : tone} size={14} />
        <strong class="foreign">{toolName}</strong>
        <Inline value={input} />
        <span class="quiet">{approval?.approved === false ? 'was refused' : (callWords[state] ?? 'is under way')}</span>
        {output !== undefined && <Inline value={output} />}
        {errorText !== undefined && <span class="foreign">{errorText}</span>}
      </p>
      {isRequested && (
        <div class="choices">
          <button
            type="button"
            class="button primary"
            disabled={isBusy}
            onClick={() => session.decide(message, toolCallId, true)}
          >
            Approve
          </button>
          <button
            type="button"
            class="button"
            disabled={isBusy}
            onClick={() => session.decide(message, toolCallId, false)}
          >
            Refuse
          </button>
        </div>
      )}
    </div>
  );
}

function Question({
  wait,
  message,
  session,
  isBusy,
}: {
  readonly wait: ChatWait;
  readonly message: ChatMessage;
  readonly session: ChatSession;
  readonly isBusy: boolean;
}): JSX.Element {
  const { audience, waitId, prompt, choices = [], schema = { type: 'string' } } = wait;
  if (audience !== 'user' || waitId === undefined)
    return (
      <p class="row small quiet" data-tone="waiting">
        <Mark tone="waiting" size={14} />
        Somebody else is asked. It goes on when they have answered.
      </p>
    );
  const answer = (value: unknown): void => session.answer(message, waitId, value);
  return (
    <div class="chat-call asks" data-tone="waiting" role="group" aria-label="Question to you">
      <p>
        <LongText text={prompt ?? 'It asks.'} />
      </p>
      {choices.length > 0 ? (
        <ChoiceButtons choices={choices} isBusy={isBusy} answer={answer} />
      ) : (
        <AnswerForm schema={schema as JsonSchema} isBusy={isBusy} answer={answer} />
      )}
    </div>
  );
}

interface ComposerProps {
  readonly chat: ShownChat;
  readonly session: ChatSession;
  readonly agent: string;
  readonly onSent: (text: string) => void;
}

/** Enter sends, Shift+Enter begins a line. */
function Composer({ chat, session, agent, onSent }: ComposerProps): JSX.Element {
  const [text, setText] = useState('');
  const { isUnderWay, isLoaded } = chat;
  const say = (): void => {
    if (text.trim() === '' || isUnderWay || !isLoaded) return;
    onSent(text.trim());
    session.say(text.trim());
    setText('');
  };
  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault();
        say();
      }}
    >
      <textarea
        class="field"
        rows={2}
        aria-label={`Message to ${agent}`}
        placeholder={`Message to ${agent}`}
        value={text}
        onInput={({ currentTarget }) => setText(currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
          event.preventDefault();
          say();
        }}
      />
      {isUnderWay ? (
        <button type="button" class="button" onClick={() => session.stop()}>
          Stop
        </button>
      ) : (
        <button type="submit" class="button primary" disabled={text.trim() === '' || !isLoaded}>
          Send
        </button>
      )}
    </form>
  );
}
