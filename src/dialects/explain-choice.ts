/** Explains a choice that a dialect compiled into a graph. Each dialect recognises its own choices by their recorded text. */
import type { ChoiceExplainer } from '../graph/graph.ts';
import { explainWays } from './dot/run/stage/explain-ways.ts';

export const explainChoice: ChoiceExplainer = (text, scope, config) => explainWays(text, scope, config);
