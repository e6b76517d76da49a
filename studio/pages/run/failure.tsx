/** Why a run failed: the innermost failure, the line of the user's own code, and what can be done. */
import type { JSX } from 'preact';
import { may } from '../../data/api.ts';
import type { Failure, Standing, Story, Visit } from '../../data/types.ts';
import { errorLines } from '../../../src/operations/format/failure-words.ts';
import { Mark } from '../../parts/icons.tsx';
import { linkTo, linkWith } from '../../url.ts';
import { countOf, nodeName } from '../../words.ts';
import { useSeqBefore } from './moment.ts';

/** The failures that no other one stands behind: of a node and what failed within it, the innermost. */
function innermost(failures: readonly Why[]): readonly Why[] {
  const placeOf = ({ node, step }: Why): string => `${[...node, ...(step === undefined ? [] : [step])].join('/')}/`;
  return failures.filter(
    (each) => !failures.some((other) => other !== each && placeOf(other).startsWith(placeOf(each))),
  );
}

/** What is shown of a failure: as much as is recorded. */
export type Why = Pick<Failure, 'node' | 'message'> & Partial<Failure>;

export function WhyFailed({ why }: { readonly why: Why }): JSX.Element {
  const { node, step, attempt = 1, code, message, worker } = why;
  const facts = [
    ...(step === undefined ? [] : [`step ${step}`]),
    ...(attempt > 1 ? [`attempt ${attempt}`] : []),
    ...(code === undefined ? [] : [code]),
    ...(worker === undefined ? [] : [`worker ${worker}`]),
  ];
  const lines = errorLines(why).map((line) => line.replace(/^ {2}/u, ''));
  return (
    <div>
      <h2 class="question foreign">{message}</h2>
      <p class="quiet small">
        in{' '}
        <a class="linked foreign" href={linkWith({ node: node.join('/') })}>
          {nodeName(node)}
        </a>
        {facts.map((fact) => (
          <>
            {' · '}
            <code class="foreign">{fact}</code>
          </>
        ))}
      </p>
      <Stack lines={lines} />
    </div>
  );
}

/** Frames that are seen at once: the line itself, and who called it. */
const framesFirst = 2;

/** Where it was thrown, by frames of the user's own code; the rest is folded. */
function Stack({ lines }: { readonly lines: readonly string[] }): JSX.Element | null {
  if (lines.length === 0) return null;
  const rest = lines.slice(framesFirst);
  return (
    <>
      <pre class="foreign stack-lines">{lines.slice(0, framesFirst).join('\n')}</pre>
      {rest.length > 0 && (
        <details class="small">
          <summary>{countOf(rest.length, 'more line')}</summary>
          <pre class="foreign">{rest.join('\n')}</pre>
        </details>
      )}
    </>
  );
}

/** Why it failed, and what can be done. */
export function FailureCard({
  standing,
  story,
}: {
  readonly standing: Standing;
  readonly story: Story | undefined;
}): JSX.Element {
  const { runId, error, failures } = standing;
  // Of a history that cannot be read, what the state says remains.
  const known = Object.entries(story?.failures ?? {}).map(([node, { message, code }]) => ({
    node: node.split('/'),
    message,
    ...(code !== undefined && { code }),
  }));
  const causes = innermost(failures ?? known);
  const failed = story?.entries.findLast(
    (entry): entry is Visit => entry.kind === 'visit' && entry.status === 'failed',
  );
  const before = useSeqBefore(runId, failed);
  return (
    <article class="card failure" data-tone="failed" aria-label="Why it failed">
      <div class="body stack">
        <div class="row small">
          <Mark tone="failed" />
          <span class="toned">{causes.length > 1 ? `${causes.length} nodes failed` : 'why it failed'}</span>
        </div>
        {causes.slice(0, 10).map((why) => (
          <WhyFailed key={why.node.join('/')} why={why} />
        ))}
        {causes.length === 0 && error !== undefined && <h2 class="question foreign">{error.message}</h2>}
        {error?.hint !== undefined && <p class="small foreign">{error.hint}</p>}
        <div class="row wrap">
          {before !== undefined && may('fork') && (
            <a class="button" href={linkTo('fork', { id: runId, at: before })}>
              Fork from before it failed
            </a>
          )}
          {before !== undefined && (
            <a class="button" href={linkWith({ at: before, tab: 'state' })}>
              See the state before
            </a>
          )}
        </div>
      </div>
    </article>
  );
}
