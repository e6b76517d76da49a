/** The block GetInput: asks for a text, which may have to match a pattern. */
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

// Converts patterns of older files, which have Python's syntax, to JavaScript's.

const pieces = /\[(?:\\[\s\S]|[^\]\\])*\]|\\[\s\S]|\(\?P<|\(\?P=(\w+)\)/gu;

/** An escape of a character that needs none. It is an error in JavaScript's Unicode mode. */
const needless = /\\([^\w^$\\.*+?()[\]{}|/-])/gu;

/**
 * A pattern that must match at the beginning of a text, like Python's `re.match`. Python's named groups, `\A`, `\Z` and needless escapes
 * are rewritten. What JavaScript lacks stays, and makes the pattern invalid.
 */
function startPattern(pattern: string): string {
  return `^(?:${pattern.replaceAll(pieces, rewrite)})`;
}

function rewrite(piece: string, name: string | undefined): string {
  if (piece === '(?P<') return '(?<';
  if (name !== undefined) return `\\k<${name}>`;
  if (piece === '\\A') return '^';
  if (piece === '\\Z') return '$';
  // Inside a class, `\-` keeps `-` from forming a range. Elsewhere `-` needs no escape, but keeping it would be an error.
  return piece === '\\-' ? '-' : piece.replaceAll(needless, '$1');
}

const patternOf = ({ validation_pattern: pattern }: Inputs): string | undefined =>
  typeof pattern === 'string' && pattern !== '' ? startPattern(pattern) : undefined;

class GetInput extends InteractiveBlock {
  override readonly name = 'GetInput';
  override readonly description = 'Asks for a text, which may have to match a pattern.';
  override readonly effect = 'pure';
  override readonly inputs: NodeType['inputs'] = {
    prompt: textField('What is asked.', { isRequired: true }),
    validation_pattern: {
      schema: { type: 'string' },
      description:
        'A regular expression that the beginning of the answer must match; end it with $ to match all of it.',
    },
  };
  override readonly outputs: NodeType['outputs'] = {
    input_value: { schema: { type: 'string' }, description: 'The answer, untouched.' },
  };

  override readonly check = (inputs: Inputs): readonly InputFault[] => {
    try {
      const pattern = patternOf(inputs);
      if (pattern !== undefined) ''.search(new RegExp(pattern, 'u'));
      return [];
    } catch (error) {
      const fix = 'Give a regular expression in the syntax of JavaScript.';
      return [{ input: 'validation_pattern', message: (error as Error).message, fix }];
    }
  };

  override readonly outputFault = ({ input_value: text }: BlockOutput, inputs: Inputs): string | undefined => {
    const pattern = patternOf(inputs);
    if (pattern === undefined || new RegExp(pattern, 'u').test(text as string)) return undefined;
    return `input_value does not match the pattern ${inputs['validation_pattern'] as string}`;
  };

  override execute({ inputs }: InteractiveContext): Pause {
    const pattern = patternOf(inputs);
    return pause({
      prompt: requireText(inputs, 'prompt'),
      schema: { type: ['string', 'number', 'boolean'], ...(pattern !== undefined && { pattern }) },
      metadata: pattern === undefined ? {} : { validation_pattern: inputs['validation_pattern'] },
    });
  }

  override resume({ inputs }: InteractiveContext, answer: unknown): BlockOutput | Refusal {
    const text = textOfAnswer(answer);
    const pattern = patternOf(inputs);
    // Texts were checked by the schema already. A number or boolean becomes a text only here, so it is checked now.
    if (pattern !== undefined && !new RegExp(pattern, 'u').test(text))
      return refuse(`Input doesn't match pattern ${inputs['validation_pattern'] as string}: ${text}`);
    return { input_value: text };
  }
}

export const getInput: NodeType = interactiveNodeType(new GetInput());
