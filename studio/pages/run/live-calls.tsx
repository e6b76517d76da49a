/** What models are saying at this moment, as it comes. */
import type { JSX } from 'preact';
import type { LiveCall } from '../../data/live.ts';
import { Mark } from '../../parts/icons.tsx';
import { linkWith } from '../../url.ts';
import { nodeName } from '../../words.ts';

/** Letters of the end that are shown of a long text. */
const shownChars = 4_000;
const endOf = (text: string): string => (text.length > shownChars ? `…${text.slice(-shownChars)}` : text);

export function LiveCalls({ calls }: { readonly calls: readonly LiveCall[] }): JSX.Element {
  return (
    <>
      {calls.map(({ node, call, text, reasoning, tools }) => (
        <article class="card live-call" data-tone="running" key={call} aria-label={`${nodeName(node)} is answering`}>
          <div class="body stack">
            <div class="row small">
              <Mark tone="running" />
              <a class="toned" href={linkWith({ tab: 'agents', agent: node.join('/') })}>
                {`${nodeName(node)} is answering`}
              </a>
            </div>
            {reasoning !== '' && <p class="quiet small foreign">{endOf(reasoning)}</p>}
            {text !== '' && <p class="foreign said">{endOf(text)}</p>}
            {tools.map(({ id, tool, input }) => (
              <p class="call small" key={id}>
                <span class="foreign">{`calls ${tool} `}</span>
                <code class="foreign">{endOf(input)}</code>
              </p>
            ))}
          </div>
        </article>
      ))}
    </>
  );
}
