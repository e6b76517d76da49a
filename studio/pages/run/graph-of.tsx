/** The graph of a run beside something else: how its nodes stand at a moment; a click leads to the node on the page of its run. */
import type { JSX } from 'preact';
import { placeOf } from '../../data/api.ts';
import { useLoaded } from '../../data/query.ts';
import type { Checkpoint, Story, Structure } from '../../data/types.ts';
import { actsOutside } from '../../graph/nodes.ts';
import { Picture } from '../../graph/picture.tsx';
import { Awaited } from '../../parts/common.tsx';
import { linkToRun } from '../../url.ts';
import { PictureBox } from './picture-box.tsx';
import { drawnNodes, takenEdges } from './standings.ts';

interface GraphOfProps {
  readonly runId: string;
  /** Default: its newest checkpoint. */
  readonly at: number | undefined;
}

export function GraphOf({ runId, at }: GraphOfProps): JSX.Element | null {
  const place = placeOf(runId, at ?? 'head');
  const structure = useLoaded<{ readonly structure: Structure }>(`${place}/structure`);
  const checkpoint = useLoaded<Checkpoint>(place, { omitsLarge: true });
  const story = useLoaded<Story>(`${place}/story?limit=1`);
  // A run of an old version has no structure on record, and then no picture.
  if (structure.problem !== undefined) return null;
  const drawn = structure.data?.structure;
  if (drawn === undefined) return <Awaited lines={4} />;
  return (
    <div class="graph-of">
      <PictureBox seen={`${runId} ${checkpoint.data !== undefined}`} acts={drawn.nodes.some(actsOutside)}>
        <Picture
          structure={drawn}
          nodes={drawnNodes({ checkpoint: checkpoint.data })}
          taken={takenEdges({ story: story.data })}
          selected={undefined}
          linkTo={(id) => linkToRun(runId, { at, ...(!id.startsWith('~') && { node: id }) })}
          unfolded={undefined}
        />
      </PictureBox>
    </div>
  );
}
