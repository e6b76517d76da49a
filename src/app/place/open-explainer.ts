/** Loads what explains choices that dialects compiled, when a post-mortem is asked for. */
import type { ChoiceExplainer } from '../../graph/graph.ts';

export async function openExplainer(): Promise<ChoiceExplainer> {
  return (await import('../../dialects/explain-choice.ts')).explainChoice;
}
