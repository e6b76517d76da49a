/** Questions about effects that came to their end and said themselves that they failed, as a command does with an exit code (X3.1). */
import type { RunTree } from '../../state/tree.ts';
import { recordIn } from '../record/step-record.ts';
import type { MessageBody } from './wait.ts';

/** The ids of those that are open. A resume that is to try such effects again answers them (X3.4). */
export function endedDoubts(root: RunTree): readonly string[] {
  return Object.entries(root.waits).flatMap(([waitId, { kind, node, step }]) => {
    if (kind !== 'doubt') return [];
    const record = recordIn(root, node);
    const effect = step === undefined ? record : record?.steps?.[step];
    return effect?.applied === 'ended' ? [waitId] : [];
  });
}

/** The answer of such a resume. */
export function againBy(by = 'person'): MessageBody {
  return { value: 'run again', by };
}
