/** Pictures and pages for programs: of a graph, and of a run from its post-mortem. What makes them is loaded on first use. */
import type { Graph } from '../../graph/graph.ts';
import type { PostMortem } from '../../history/explain/story.ts';

/**
 * A graph as SVG, coloured by what happened if there is a run's post-mortem. Nothing in it can act or refers to anything outside: what
 * anybody wrote is text.
 * @param graph - a compiled graph, or its `structure` as `history.structure` gives it
 */
export async function drawGraph(graph: Graph | Graph['structure'], story?: PostMortem): Promise<string> {
  const [{ pictureOf }, { marksOf }] = await Promise.all([
    import('../../dialects/dot/picture/picture.ts'),
    import('../../operations/runs/picture-marks.ts'),
  ]);
  return pictureOf('structure' in graph ? graph.structure : graph, story && marksOf(story));
}

/**
 * A post-mortem as one HTML page that needs nothing but itself: no script, no request. Values under names of secrets are masked.
 * @param graph - the graph of the run, which is drawn as {@link drawGraph} does. Default: the page has an outline of the nodes in its place
 */
export async function drawPage(story: PostMortem, graph?: Graph | Graph['structure']): Promise<string> {
  const { storyPage } = await import('./story-page.ts');
  return storyPage(story, graph && (await drawGraph(graph, story)));
}
