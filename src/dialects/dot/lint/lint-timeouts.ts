/** Lint rules for timeouts of commands: how long they may be, and what is not tried again after them. */
import type { Stage } from '../model/pipeline.ts';
import type { Report } from './report.ts';

/** The longest timeout of the block `Shell`, which runs the commands. */
const longestMs = 86_400_000;

export function runsCommand({ type, attributes }: Stage): boolean {
  return type === 'tool' || attributes.text('agent_command') !== '';
}

export function lintTimeout({ error, warn }: Report, stage: Stage): void {
  const { id, attributes } = stage;
  const timeoutMs = attributes.durationMs('timeout');
  if (timeoutMs === undefined || !runsCommand(stage)) return;
  if (timeoutMs > longestMs)
    error(
      'attribute_value',
      attributes.placeOf('timeout'),
      `timeout of ${id}, a command, is over 1d`,
      'give 1d or less',
    );
  const retries = retriesOf(stage);
  if (retries !== undefined && !attributes.flag('idempotent'))
    warn(
      'timeout_not_retried',
      attributes.placeOf(retries),
      `${retries} of ${id} is for exit codes: after its timeout it is not run again, since it may have had its effect`,
      'add idempotent=true if it may run twice',
    );
}

/** The attribute by which a stage says that it is tried again. */
function retriesOf({ attributes }: Stage): string | undefined {
  const retries = attributes.integer('max_retries');
  if (retries !== undefined) return retries > 0 ? 'max_retries' : undefined;
  return ['', 'none'].includes(attributes.text('retry_policy')) ? undefined : 'retry_policy';
}
