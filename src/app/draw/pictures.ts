/** Pictures and pages for programs: of a graph, and of a run as its post-mortem tells it. What makes them is loaded when one is asked for. */
import type { Graph } from '../../graph/graph.ts';
import type { PostMortem } from '../../history/trace/story.ts';

/**
 * A graph as SVG, coloured by what happened if a run's post-mortem is given. Nothing in the SVG can act: no scripts, links or styles.
 * Graphviz draws it, in a worker that has ten seconds.
 * @param graph - a compiled graph, or its `structure` as `history.structure` gives it
 * @throws CONFIG_MISSING_PEER the package `@viz-js/viz` is not installed; INPUT_INVALID it cannot be drawn, or not in time
 */
export async function drawGraph(graph: Graph | Graph['structure'], story?: PostMortem): Promise<string> {
  const [{ pictureOf }, { marksOf }, { drawDot }] = await Promise.all([
    import('../../dialects/dot/picture/picture.ts'),
    import('../../operations/runs/picture-marks.ts'),
    import('./draw-dot.ts'),
  ]);
  const structure = 'structure' in graph ? graph.structure : graph;
  return drawDot(pictureOf(structure, story && marksOf(story)));
}

/**
 * A post-mortem as one HTML page that needs nothing but itself: no script, no request. Values under names of secrets are masked.
 * @param svg - the graph, as {@link drawGraph} gives it. Default: the page has an outline of the nodes in its place
 */
export async function drawPage(story: PostMortem, svg?: string): Promise<string> {
  const { storyPage } = await import('./story-page.ts');
  return storyPage(story, svg);
}
