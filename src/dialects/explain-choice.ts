/** Why a choice that a dialect compiled into a graph fell as it did: each dialect knows its own by the text that is kept of it. */
import type { ChoiceExplainer } from '../graph/graph.ts';
import { explainWays } from './dot/run/explain-ways.ts';

export const explainChoice: ChoiceExplainer = (text, scope) => explainWays(text, scope);
