/** The blocks of YAML workflows, and what a user makes blocks of their own with: the door `cairn-workflows/blocks`. */
import type { NodeType } from '../../graph/node-type.ts';
import { askChoice } from './ask-choice.ts';
import { confirmOperation } from './confirm-operation.ts';
import { getInput } from './get-input.ts';
import { prompt } from './prompt.ts';

export {
  InteractiveBlock,
  pause,
  refuse,
  textOfAnswer,
  type InteractiveContext,
  type Pause,
  type PauseQuestion,
  type Refusal,
} from './interactive-block.ts';
export { interactiveNodeType } from './interactive-node-type.ts';

/** All built-in node types. */
export function createNodeTypes(): readonly NodeType[] {
  return [confirmOperation, askChoice, getInput, prompt];
}
