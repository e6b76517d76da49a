/** The block EchoBlock: returns its input; for trying things out. */
import type { NodeType } from '../../graph/contracts/node-type.ts';
import { setTimeout } from 'node:timers/promises';
import { numberOption, textField, fieldsOf, outputField, optionFaults, requireText } from './block-options.ts';

const delayMs = numberOption('delay_ms', 'Milliseconds to wait first.', { default: 0, min: 0, max: 3_600_000 });

/** The `EchoBlock` of docs/spec/blocks.md. */
export const echoBlock: NodeType = {
  name: 'EchoBlock',
  description: 'Says again what it is told, after a while.',
  inputs: { message: textField('What to say.', { isRequired: true }), ...fieldsOf([delayMs]) },
  outputs: {
    echoed: outputField('string', '`Echo: ` and the message.'),
    execution_time_ms: outputField('number', 'Milliseconds it took.'),
  },
  effect: 'pure',
  check: (inputs) => optionFaults([delayMs], inputs),
  run: async ({ inputs, signal }) => {
    const message = requireText(inputs, 'message');
    const wait = delayMs.read(inputs);
    signal.throwIfAborted();
    const begun = performance.now();
    if (wait > 0) await setTimeout(wait, undefined, { signal });
    return { echoed: `Echo: ${message}`, execution_time_ms: Math.round(performance.now() - begun) };
  },
};
