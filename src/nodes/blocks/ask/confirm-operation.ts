/** The block ConfirmOperation: asks a yes-or-no question. */
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

const confirmations = new Set(['yes', 'y', 'true', 'confirm', 'approved']);

const isYes = (response: string): boolean => confirmations.has(response.trim().toLowerCase());

class ConfirmOperation extends InteractiveBlock {
  override readonly name = 'ConfirmOperation';
  override readonly description = 'Asks to confirm an operation. Anything but a yes is a no.';
  override readonly effect = 'pure';
  override readonly inputs: NodeType['inputs'] = {
    message: textField('What is to be confirmed.', { isRequired: true }),
    operation: textField('A name for the operation.', { isRequired: true }),
    details: { schema: { type: 'object' }, description: 'More to know, shown with the question.', default: {} },
  };
  override readonly outputs: NodeType['outputs'] = {
    confirmed: {
      schema: { type: 'boolean' },
      description: 'Whether the answer was yes, y, true, confirm or approved, letter case and spaces around it aside.',
    },
    response: { schema: { type: 'string' }, description: 'The answer as text.' },
  };

  override readonly outputFault = ({ confirmed, response }: BlockOutput): string | undefined =>
    isYes(response as string) === confirmed ? undefined : 'confirmed must be what response says';

  override execute({ inputs }: InteractiveContext): Pause {
    const { details = {} } = inputs;
    const operation = requireText(inputs, 'operation');
    return pause({
      prompt: `Confirm operation: ${requireText(inputs, 'message')}\n\nRespond with 'yes' or 'no'`,
      choices: ['yes', 'no'],
      matching: 'open',
      schema: { type: ['string', 'boolean'] },
      metadata: { operation, details },
    });
  }

  override resume(_: InteractiveContext, answer: unknown): BlockOutput {
    const response = textOfAnswer(answer);
    return { confirmed: isYes(response), response };
  }
}

export const confirmOperation: NodeType = interactiveNodeType(new ConfirmOperation());
