/** The graph at a moment, as a picture and as a list; and what is known of the node that is picked. */
import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { may } from '../../data/api.ts';
import type { NodeView, Structure, StructureNode, Visit } from '../../data/types.ts';
import { actsOutside, labelOfNode, type NodeStanding } from '../../graph/nodes.ts';
import { Picture } from '../../graph/picture.tsx';
import { Awaited } from '../../parts/common.tsx';
import { Icon, Mark } from '../../parts/icons.tsx';
import { Inline } from '../../parts/value.tsx';
import { VirtualList } from '../../parts/virtual-list.tsx';
import { linkTo, linkWith, readParam } from '../../url.ts';
import { cost, countOf, duration, effectWords, nodeName, nodeTone, toneWords, type Tone } from '../../words.ts';
import { PictureBox } from './picture-box.tsx';
import { drawnNodes, takenEdges } from './standings.ts';
import { useSeqBefore, type Moment } from './moment.ts';

/** The graph within a node, and the path to it. */
function structureAt(structure: Structure, path: readonly string[]): Structure {
  let at = structure;
  for (const id of path) at = at.nodes.find((node) => node.id === id)?.subgraph ?? at;
  return at;
}

export function GraphPanel({ moment }: { readonly moment: Moment }): JSX.Element {
  const [isList, setList] = useState(false);
  const { structure, runId } = moment;
  const picked = readParam('node');
  const isAlone = readParam('graph') === 'alone';
  const inside = (readParam('in') ?? '').split('/').filter(Boolean);
  const shown = structure === undefined ? undefined : structureAt(structure, inside);
  const nodes = useMemo(() => drawnNodes(moment, inside), [moment.checkpoint, inside.join('/')]);
  const taken = useMemo(() => takenEdges(moment), [moment.story]);
  const prefix = inside.length === 0 ? '' : `${inside.join('/')}/`;
  const link = (id: string): string =>
    id.startsWith('~fold')
      ? linkWith({ unfold: id.slice(6) })
      : linkWith({ node: picked === prefix + id ? undefined : prefix + id });
  const unfolded = readParam('unfold');
  const isReady = shown !== undefined && moment.checkpoint !== undefined;
  const showsList = isList || readParam('list') === '1';
  return (
    <section class="card graph-panel" aria-label="Graph">
      <div class="row panel-head">
        <h2 class="foreign">{shown?.id ?? 'Graph'}</h2>
        {inside.length > 0 && (
          <a class="linked small" href={linkWith({ in: inside.slice(0, -1).join('/') || undefined })}>
            up
          </a>
        )}
        <a
          class="button bare icon push wide-only"
          href={linkWith({ graph: isAlone ? undefined : 'alone' })}
          aria-label={isAlone ? 'Show it beside the rest' : 'Show it alone'}
          title={isAlone ? 'Beside the rest' : 'Alone'}
        >
          <Icon name={isAlone ? 'shrink' : 'grow'} size={14} />
        </a>
        <div class="choice" role="group" aria-label="How to see it">
          <button type="button" aria-pressed={!showsList} onClick={() => setList(false)}>
            Picture
          </button>
          <button type="button" aria-pressed={showsList} onClick={() => setList(true)}>
            List
          </button>
        </div>
      </div>
      {shown === undefined ? (
        <div class="body">
          <Awaited lines={5} />
        </div>
      ) : showsList ? (
        <NodeList structure={shown} nodes={nodes} link={link} />
      ) : (
        <PictureBox seen={`${isReady} ${runId} ${unfolded} ${prefix}`} acts={shown.nodes.some(actsOutside)}>
          <Picture
            structure={shown}
            nodes={nodes}
            taken={taken}
            selected={picked?.slice(prefix.length)}
            linkTo={link}
            unfolded={unfolded === undefined ? undefined : `~fold ${unfolded}`}
          />
        </PictureBox>
      )}
      {picked !== undefined && shown !== undefined && (
        <NodeFacts key={`${runId} ${picked}`} path={picked.split('/')} moment={moment} structure={shown} />
      )}
    </section>
  );
}

function NodeList({
  structure,
  nodes,
  link,
}: {
  readonly structure: Structure;
  readonly nodes: ReadonlyMap<string, NodeStanding>;
  readonly link: (id: string) => string;
}): JSX.Element {
  return (
    <div class="node-list">
      <VirtualList items={structure.nodes} keyOf={({ id }) => id} rowPx={34} label="Nodes">
        {({ id, effect }) => {
          const { tone, visits } = nodes.get(id) ?? { tone: 'idle' as Tone, visits: 0 };
          const next = structure.edges.filter(({ from, to }) => from === id && to !== '__end__').map(({ to }) => to);
          return (
            <a href={link(id)} class="row small" data-tone={tone}>
              <Mark tone={tone} size={14} />
              <span class="cut" title={id}>
                {id}
              </span>
              <span class="toned">{toneWords[tone]}</span>
              {visits > 1 && <span class="quiet">{`×${visits}`}</span>}
              <span class="quiet push cut">{effectWords[effect]}</span>
              {next.length > 0 && <span class="hidden-text">{`, then ${next.slice(0, 5).join(', ')}`}</span>}
            </a>
          );
        }}
      </VirtualList>
    </div>
  );
}

interface FactsProps {
  readonly path: readonly string[];
  readonly moment: Moment;
  readonly structure: Structure;
}

function NodeFacts({ path, moment, structure }: FactsProps): JSX.Element {
  const { checkpoint, story, runId } = moment;
  const name = path.join('/');
  const id = path.at(-1) ?? '';
  const node: StructureNode | undefined = structure.nodes.find((one) => one.id === id);
  const view: NodeView | undefined = checkpoint?.view.nodes.find((one) => one.path.join('/') === name);
  const waits = checkpoint?.view.waits.filter((wait) => wait.node.join('/') === name) ?? [];
  const visits = (story?.entries ?? []).filter(
    (entry): entry is Visit => entry.kind === 'visit' && entry.path.join('/') === name,
  );
  const last = visits.at(-1);
  const tone = nodeTone(view?.status, waits);
  const output = checkpoint?.view.state['outputs'] as Readonly<Record<string, unknown>> | undefined;
  const seqBefore = useSeqBefore(runId, visits[0]);
  return (
    <div class="node-facts" data-tone={tone}>
      <div class="row wrap">
        <Mark tone={tone} />
        <h3 class="foreign">{nodeName(path)}</h3>
        <span class="toned small">{toneWords[tone]}</span>
        <a class="button bare icon push" href={linkWith({ node: undefined })} aria-label="Close">
          <Icon name="close" size={14} />
        </a>
      </div>
      <dl class="facts">
        {labelOfNode(node) !== undefined && (
          <>
            <dt>called</dt>
            <dd class="foreign">{labelOfNode(node)}</dd>
          </>
        )}
        {node !== undefined && (
          <>
            <dt>it</dt>
            <dd class="foreign">{`${effectWords[node.effect] ?? node.effect} · ${node.type}`}</dd>
          </>
        )}
        {visits.length > 0 && (
          <>
            <dt>visits</dt>
            <dd>
              {countOf(view?.visits ?? visits.length, 'visit')}
              {last?.durationMs !== undefined && `, the last took ${duration(last.durationMs)}`}
            </dd>
          </>
        )}
        {cost(view?.spent) !== undefined && (
          <>
            <dt>spent</dt>
            <dd>{cost(view?.spent)}</dd>
          </>
        )}
        {last?.error !== undefined && (
          <>
            <dt>failed</dt>
            <dd class="foreign">{last.error.message}</dd>
          </>
        )}
        {output !== undefined && id in output && path.length === 1 && (
          <>
            <dt>gave</dt>
            <dd>
              <Inline value={output[id]} />
            </dd>
          </>
        )}
      </dl>
      <div class="row wrap">
        {node?.subgraph !== undefined && (
          <a class="button" href={linkWith({ in: name, node: undefined })}>
            {`Open its ${countOf(node.subgraph.nodes.length, 'node')}`}
          </a>
        )}
        {seqBefore !== undefined && may('fork') && (
          <a class="button" href={linkTo('fork', { id: runId, at: seqBefore })}>
            Fork before it
          </a>
        )}
        {visits.some(({ steps, type }) => type === 'agent' || steps.some(({ step }) => step.startsWith('model '))) && (
          <a class="button" href={linkWith({ tab: 'agents', agent: name })}>
            Its conversation
          </a>
        )}
      </div>
    </div>
  );
}
