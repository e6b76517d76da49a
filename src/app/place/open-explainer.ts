/** Loads the code that explains choices made by dialects, when a post-mortem is requested. */
import type { ChoiceExplainer } from '../../graph/graph.ts';

export async function openExplainer(): Promise<ChoiceExplainer> {
  return (await import('../../dialects/explain-choice.ts')).explainChoice;
}
