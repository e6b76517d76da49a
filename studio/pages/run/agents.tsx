/** What agents and models said to each other. */
import type { JSX } from 'preact';
import { encode, placeOf } from '../../data/api.ts';
import { useLoaded } from '../../data/query.ts';
import type { Amounts } from '../../data/types.ts';
import { Awaited, Empty } from '../../parts/common.tsx';
import { Inline, LongText } from '../../parts/value.tsx';
import { linkWith, readParam } from '../../url.ts';
import { cost, countOf, nodeName } from '../../words.ts';
import type { Moment } from './moment.ts';

interface Message {
  readonly role: string;
  readonly content: string | readonly MessagePart[];
}

interface MessagePart {
  readonly type: string;
  readonly text?: string;
  readonly tool?: string;
  readonly input?: unknown;
  readonly output?: unknown;
  readonly isError?: boolean;
}

export interface AgentLoop {
  readonly loop: number;
  readonly model?: string;
  readonly usage?: Amounts;
  readonly finishReason?: string;
  readonly calls?: readonly { readonly step?: string; readonly input?: unknown; readonly output?: unknown }[];
}

export interface AgentState {
  readonly status: string;
  readonly messages: readonly Message[];
  readonly intermediateSteps: readonly AgentLoop[];
  readonly pendingCalls: readonly { readonly tool?: string; readonly status?: string }[];
  readonly isAsking: boolean;
  readonly spent?: Amounts;
}

export function AgentPanel({
  moment,
  nodes,
}: {
  readonly moment: Moment;
  readonly nodes: readonly (readonly string[])[];
}): JSX.Element {
  const { runId, seq } = moment;
  const wanted = readParam('agent');
  const chosen = nodes.find((path) => path.join('/') === wanted) ?? nodes[0];
  const name = chosen?.join('/');
  const { data, problem } = useLoaded<{ readonly value: AgentState }>(
    name === undefined ? undefined : `${placeOf(runId, seq)}/state?agent=${encode(name)}`,
    { keepsOld: true },
  );
  return (
    <div class="stack">
      {nodes.length > 1 && (
        <nav class="choice" aria-label="Agents">
          {nodes.map((path) => (
            <a href={linkWith({ agent: path.join('/') })} aria-current={path === chosen ? 'true' : undefined}>
              {nodeName(path)}
            </a>
          ))}
        </nav>
      )}
      {problem !== undefined && (
        <Empty title="Nothing was said yet">
          <p class="foreign">{problem.message}</p>
        </Empty>
      )}
      {problem === undefined && (data === undefined ? <Awaited lines={6} /> : <Transcript agent={data.value} />)}
    </div>
  );
}

const speakers: Readonly<Record<string, string>> = {
  system: 'Instructions',
  user: 'Asked',
  assistant: 'Agent',
  tool: 'Tool',
};

interface TranscriptProps {
  readonly agent: AgentState;
  /** Whether it is told what the whole used and cost. */
  readonly isSummed?: boolean;
}

export function Transcript({ agent, isSummed = true }: TranscriptProps): JSX.Element {
  const { messages, intermediateSteps, isAsking, spent, pendingCalls } = agent;
  let loop = 0;
  return (
    <>
      {isSummed && (
        <p class="quiet small foreign">
          {[
            ...new Set(intermediateSteps.flatMap(({ model }) => model ?? [])),
            countOf(intermediateSteps.length, 'turn'),
            ...toolWords(messages),
            cost(spent),
          ]
            .filter(Boolean)
            .join(' · ')}
        </p>
      )}
      <ol class="transcript" aria-label="Conversation">
        {messages.map((message) => {
          const turn = message.role === 'assistant' ? intermediateSteps[loop++] : undefined;
          return (
            <li class={message.role}>
              <div class="row">
                <strong class="small">{speakers[message.role] ?? message.role}</strong>
                <span class="quiet tiny push">{cost(turn?.usage)}</span>
              </div>
              {typeof message.content === 'string' ? (
                <p>
                  <LongText text={message.content} max={1_200} />
                </p>
              ) : (
                message.content.map((part) => <Part part={part} />)
              )}
            </li>
          );
        })}
        {pendingCalls.map(({ tool = 'a tool', status = '' }) => (
          <li class="quiet small foreign">{`${tool}: ${status === '' ? 'under way' : status}`}</li>
        ))}
        {isAsking && <li class="quiet small">The model is being asked…</li>}
      </ol>
    </>
  );
}

/** Which tools were called, and how often. */
function toolWords(messages: readonly Message[]): readonly string[] {
  const calls = messages.flatMap(({ content }) =>
    typeof content === 'string' ? [] : content.flatMap(({ type, tool }) => (type === 'tool-call' ? [tool ?? ''] : [])),
  );
  const counts = Map.groupBy(calls, (tool) => tool);
  return [...counts].map(([tool, all]) => (all.length === 1 ? tool : `${tool} ×${all.length}`));
}

function Part({ part }: { readonly part: MessagePart }): JSX.Element {
  const { type, text, tool = '', input, output, isError } = part;
  if (type === 'text')
    return (
      <p>
        <LongText text={text ?? ''} max={1_200} />
      </p>
    );
  if (type === 'reasoning')
    return (
      <p class="quiet reasoning">
        <LongText text={text ?? ''} />
      </p>
    );
  if (type === 'tool-call')
    return (
      <p class="call">
        <span class="foreign">{`calls ${tool} `}</span>
        <Inline value={input} />
      </p>
    );
  if (type === 'tool-result')
    return (
      <p class="call" data-tone={isError === true ? 'failed' : undefined}>
        <span class="foreign">{`${tool} ${isError === true ? 'failed' : 'gave'} `}</span>
        <Inline value={output} />
      </p>
    );
  return <p class="quiet foreign">{type}</p>;
}
