/** One span: what was asked, with what, and what came back; why it failed, to the line. */
import type { JSX } from 'preact';
import { placeOf } from '../../data/api.ts';
import { useLoaded } from '../../data/query.ts';
import type { Span } from '../../data/spans.ts';
import { Awaited, When } from '../../parts/common.tsx';
import { Icon, Mark } from '../../parts/icons.tsx';
import { LongText, Tree } from '../../parts/value.tsx';
import { Fact } from '../../parts/table.tsx';
import { linkWith } from '../../url.ts';
import { cost, duration, inline, nodeName } from '../../words.ts';
import { Transcript, type AgentLoop, type AgentState } from './agents.tsx';
import { WhyFailed } from './failure.tsx';
import type { Moment } from './moment.ts';
import { toneOfSpan } from './spans.tsx';

interface FactsProps {
  readonly span: Span;
  readonly moment: Moment;
}

export function SpanFacts({ span, moment }: FactsProps): JSX.Element {
  const { kind, path, name, step, from, to, spent, error, seq, turn } = span;
  const isCall = kind === 'model' || kind === 'tool';
  const agent = useLoaded<{ readonly value: AgentState }>(
    isCall
      ? `${placeOf(span.runId, span.runId === moment.runId ? moment.seq : seq)}/state?agent=${encodeURIComponent(path.join('/'))}`
      : undefined,
  );
  const loops = agent.data?.value.intermediateSteps ?? [];
  const loop =
    kind === 'model' ? loops[turn ?? -1] : loops.find(({ calls = [] }) => calls.some((call) => call.step === step));
  const tone = toneOfSpan(span);
  const title = name ?? nodeName(path);
  return (
    <article class="card span-facts" data-tone={tone} aria-label={title}>
      <div class="body stack">
        <div class="row wrap">
          <Mark tone={tone} />
          <h2 class="foreign">{title}</h2>
          <span class="quiet small foreign">{nodeName(path)}</span>
          <a class="button bare icon push" href={linkWith({ span: undefined })} aria-label="Close">
            <Icon name="close" size={14} />
          </a>
        </div>
        <dl class="facts inline">
          <Fact name="status" value={span.status} />
          {to > from && <Fact name="took" value={duration(to - from)} />}
          {loop?.model !== undefined && <Fact name="model" value={loop.model} />}
          {loop?.finishReason !== undefined && kind === 'model' && <Fact name="ended by" value={loop.finishReason} />}
          {spent !== undefined && <Fact name="spent" value={cost(spent) ?? ''} />}
          <div>
            <dt>recorded</dt>
            <dd>
              <a class="linked" href={linkWith({ at: seq })}>{`checkpoint ${seq}`}</a> <When at={to} />
            </dd>
          </div>
        </dl>
        {error !== undefined && (
          <WhyFailed why={{ ...error, node: path, ...(step !== undefined && name !== undefined && { step: name }) }} />
        )}
        {isCall && agent.data === undefined && agent.problem === undefined && <Awaited lines={4} />}
        {kind === 'tool' && loop !== undefined && <ToolCall loop={loop} step={step ?? ''} />}
        {kind === 'model' && agent.data !== undefined && loop !== undefined && (
          <Transcript agent={upTo(agent.data.value, turn ?? 0)} isSummed={false} />
        )}
        {kind === 'step' && <Result span={span} moment={moment} />}
      </div>
    </article>
  );
}

function ToolCall({ loop, step }: { readonly loop: AgentLoop; readonly step: string }): JSX.Element {
  const call = loop.calls?.find((one) => one.step === step);
  return (
    <>
      <section>
        <h3>Arguments</h3>
        <Value value={call?.input} />
      </section>
      <section>
        <h3>Result</h3>
        <Value value={call?.output} />
      </section>
    </>
  );
}

function Value({ value }: { readonly value: unknown }): JSX.Element {
  if (typeof value === 'object' && value !== null) return <Tree value={value} depth={3} />;
  if (value === undefined) return <p class="quiet small">None is recorded.</p>;
  return (
    <p>
      <LongText text={inline(value)} max={2_000} />
    </p>
  );
}

/** The conversation up to an answer of the model, that included. */
function upTo(agent: AgentState, turn: number): AgentState {
  let [seen, last] = [-1, agent.messages.length];
  for (const [index, { role }] of agent.messages.entries()) {
    if (role === 'assistant') seen += 1;
    if (seen === turn) {
      last = index + 1;
      break;
    }
  }
  return { ...agent, messages: agent.messages.slice(0, last), pendingCalls: [], isAsking: false };
}

/** What an item of a list gave, as far as its node has ended: its output has it at the place of the item. */
function Result({ span, moment }: FactsProps): JSX.Element | null {
  const { checkpoint } = moment;
  const { path, name = '' } = span;
  const outputs = (checkpoint?.view.state['outputs'] ?? {}) as Readonly<Record<string, unknown>>;
  const output = path.length === 1 ? outputs[path[0] ?? ''] : undefined;
  const item =
    typeof output === 'object' && output !== null ? (output as Readonly<Record<string, unknown>>)[name] : undefined;
  if (item === undefined) return null;
  return (
    <section>
      <h3>Result</h3>
      <Value value={item} />
    </section>
  );
}
