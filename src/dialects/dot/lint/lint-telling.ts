/**
 * Lint rules for attributes that have an effect only together with others: threads with the fidelity `full`, a summary model with summaries,
 * hooks with tools.
 */
import { kindOf, type Stage } from '../model/pipeline.ts';
import type { Report } from './report.ts';

export function lintTelling({ pipeline, layout, warn }: Report): void {
  const { attributes: graph, stages, edges } = pipeline;
  const general = graph.text('default_fidelity');
  const inert = (at: number, what: string, fix: string): void => warn('inert_attribute', at, what, fix);
  const ofStage = (id: string): string => stages.get(id)?.attributes.text('fidelity') || general;
  const told = ({ id }: Stage): readonly string[] => [
    ofStage(id),
    ...(layout.incoming.get(id) ?? []).map((edge) => edge.attributes.text('fidelity')),
  ];
  const isUsed = (kind: string): boolean =>
    [...stages.values()].some(
      (stage) => stage.type === 'codergen' && told(stage).some((fidelity) => fidelity.startsWith(kind)),
    );
  for (const stage of stages.values()) {
    const { id, type, attributes, at } = stage;
    if (type !== 'codergen' || !attributes.has('thread_id') || attributes.placeOf('thread_id') === at) continue;
    if (!told(stage).includes('full'))
      inert(
        attributes.placeOf('thread_id'),
        `thread_id of ${id} has no effect: it is never told in full`,
        'add fidelity=full',
      );
  }
  for (const { to, attributes } of edges)
    if (attributes.has('thread_id') && (attributes.text('fidelity') || ofStage(to)) !== 'full')
      inert(
        attributes.placeOf('thread_id'),
        `thread_id has no effect: ${to} is not told in full on this way`,
        'add fidelity=full',
      );
  if (graph.has('default_thread') && !isUsed('full'))
    inert(graph.placeOf('default_thread'), 'default_thread has no effect: no stage is told in full', 'take it out');
  if (graph.has('summary_model') && !isUsed('summary:'))
    inert(graph.placeOf('summary_model'), 'summary_model has no effect: no stage is told a summary', 'take it out');
  for (const name of ['tool_hooks.pre', 'tool_hooks.post'])
    if (graph.has(name) && ![...stages.values()].some((stage) => kindOf(stage) === 'codergen.agent'))
      inert(graph.placeOf(name), `${name} has no effect: no stage has tools`, 'take it out');
}
