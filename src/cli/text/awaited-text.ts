/** What a run waits for that a worker has begun that does not have it any more, in words. */
import { describeWorker } from '../../app/process/process-ids.ts';
import type { ShowCheckpointOutput } from '../../operations/checkpoints/show-checkpoint.ts';
import { printable } from '../../operations/format/terminal.ts';
import { formatTime } from '../../operations/format/time.ts';

type AwaitedEffect = NonNullable<ShowCheckpointOutput['awaits']>[number];

/** Of what the run waits to hear, from whom, and until when. */
export function awaitedWords({ node, step, owner, until }: AwaitedEffect): string {
  const place = printable([...node, ...(step === undefined ? [] : [step])].join('/'));
  return `word of ${place} from ${printable(describeWorker(owner))}, which began it and has lost the run; at the latest until ${formatTime(until)}`;
}
