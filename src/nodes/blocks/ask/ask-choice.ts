/** The block AskChoice: asks for one of several choices. */
import type { InputFault, Inputs, NodeType } from '../../../graph/contracts/node-type.ts';
import { requireText, textField } from '../block-options.ts';
import {
  InteractiveBlock,
  pause,
  refuse,
  textOfAnswer,
  type InteractiveContext,
  type BlockOutput,
  type Pause,
  type Refusal,
  interactiveNodeType,
} from './confirm-operation.ts';

class AskChoice extends InteractiveBlock {
  override readonly name = 'AskChoice';
  override readonly description = 'Asks to select one of several choices, by number or by text.';
  override readonly effect = 'pure';
  override readonly inputs: NodeType['inputs'] = {
    question: textField('What is asked.', { isRequired: true }),
    choices: {
      schema: { type: 'array', minItems: 1, items: { type: ['string', 'number', 'boolean'] } },
      description: 'What there is to select from. No two may be the same.',
      isRequired: true,
    },
  };
  override readonly outputs: NodeType['outputs'] = {
    choice: { schema: { type: 'string' }, description: 'The selected choice.' },
    choice_index: { schema: { type: 'integer' }, description: 'Its place, counted from 0.' },
  };

  override readonly check = (inputs: Inputs): readonly InputFault[] => {
    if (!Array.isArray(inputs['choices'])) return [];
    const choices = inputs['choices'].map(textOfAnswer);
    const twice = choices.find((choice, index) => choices.indexOf(choice) !== index);
    if (twice === undefined) return [];
    return [{ input: 'choices', message: `${JSON.stringify(twice)} is there twice`, fix: 'Give each choice once.' }];
  };

  override readonly outputFault = (output: BlockOutput, inputs: Inputs): string | undefined => {
    const choices = (inputs['choices'] as readonly unknown[]).map(textOfAnswer);
    const { choice, choice_index: index } = output;
    if (choices.includes(choice as string) && choices[index as number] === choice) return undefined;
    return `choice must be one of ${choices.join(', ')}, and choice_index its place, counted from 0`;
  };

  override execute({ inputs }: InteractiveContext): Pause {
    const choices = (inputs['choices'] as readonly unknown[]).map(textOfAnswer);
    const list = choices.map((choice, index) => `${index + 1}. ${choice}`).join('\n');
    return pause({
      prompt: `${requireText(inputs, 'question')}\n\nChoices:\n${list}\n\nRespond with the number of your choice.`,
      choices,
      matching: 'lenient',
      metadata: { choices },
    });
  }

  override resume(_: InteractiveContext, answer: unknown, pauseMetadata: unknown): BlockOutput | Refusal {
    const choice = textOfAnswer(answer);
    const index = (pauseMetadata as { readonly choices: readonly string[] }).choices.indexOf(choice);
    return index < 0 ? refuse(`Invalid choice: ${choice}`) : { choice, choice_index: index };
  }
}

export const askChoice: NodeType = interactiveNodeType(new AskChoice());
