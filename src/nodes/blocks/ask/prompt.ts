/** The block Prompt: asks for any text. */
import type { NodeType } from '../../../graph/contracts/node-type.ts';
import { requireText, textField } from '../fields.ts';
import {
  InteractiveBlock,
  pause,
  textOfAnswer,
  type InteractiveContext,
  type BlockOutput,
  type Pause,
} from './interactive-block.ts';
import { interactiveNodeType } from './interactive-node-type.ts';

/** Since text is among the types, a typed text such as `{"a": 1}` is kept as it is, and not parsed. */
const anyAnswer = { type: ['string', 'number', 'boolean', 'object', 'array', 'null'] };

class Prompt extends InteractiveBlock {
  override readonly name = 'Prompt';
  override readonly description = 'Asks, and takes any answer as text.';
  override readonly effect = 'pure';
  override readonly inputs: NodeType['inputs'] = {
    prompt: textField('What is asked.', { isRequired: true }),
    operation: textField('A name for what the answer is for, shown with the question.'),
    details: { schema: { type: 'object' }, description: 'More to know, shown with the question.' },
  };
  override readonly outputs: NodeType['outputs'] = {
    response: { schema: { type: 'string' }, description: 'The answer, untouched. May be empty.' },
  };

  override execute({ inputs }: InteractiveContext): Pause {
    const metadata = Object.fromEntries(
      ['operation', 'details'].filter((name) => inputs[name] !== undefined).map((name) => [name, inputs[name]]),
    );
    const hasMetadata = Object.keys(metadata).length > 0;
    return pause({ prompt: requireText(inputs, 'prompt'), schema: anyAnswer, ...(hasMetadata && { metadata }) });
  }

  override resume(_: InteractiveContext, answer: unknown): BlockOutput {
    return { response: textOfAnswer(answer) };
  }
}

export const prompt: NodeType = interactiveNodeType(new Prompt());
