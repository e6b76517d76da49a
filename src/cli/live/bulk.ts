/** `cancel`, `resume`, `rm` and `label` of all runs that a filter names: the same words as of `ls`, in place of a run. */
import { perform } from '../../operations/contract/perform.ts';
import { changeRuns, type ChangeRunsInput, type ChangeRunsOutput } from '../../operations/runs/change-runs.ts';
import { countOf } from '../../operations/format/amounts.ts';
import { printable } from '../../operations/format/terminal.ts';
import { CairnError } from '../../errors.ts';
import type { BulkAction } from '../../operations/runs/bulk-run.ts';
import type { Command } from '../command.ts';
import type { Session } from '../session.ts';
import { withApp } from './follow.ts';

const { status, graph, label, since, until, error, dryRun } = changeRuns.input;
const filterFields = { status, graph, label, since, until, error };

type Filter = Pick<ChangeRunsInput, keyof typeof filterFields | 'dryRun' | 'set' | 'unset'>;

interface ByFilter extends Filter {
  readonly run?: string;
  readonly yes?: boolean;
  readonly reason?: string;
  readonly by?: string;
}

/** The command, which takes a filter in place of a run. */
export function withBulk<Input extends object>(command: Command<Input>, action: BulkAction): Command<Input> {
  const { fields, details = '', examples } = command;
  const { isRequired: _, ...run } = fields['run'] ?? { type: 'run', description: '' };
  return {
    ...command,
    fields: { ...fields, run, ...filterFields, dryRun },
    details: `${details} Without a run, a filter says which: --dry-run shows how many there are. They are changed by a run of its own, which can be watched, cancelled and resumed; each is tried once, unless it went on since.`,
    examples: [
      ...examples,
      {
        line: `cairn ${action} --status failed --since 2h${action === 'label' ? ' --set redrive=monday' : ''} --dry-run`,
        does: 'how many it would be, and some of them',
      },
    ],
    execute(session, input) {
      const filter = input as ByFilter;
      const named = Object.keys(filterFields).filter((name) => filter[name as keyof ByFilter] !== undefined);
      if (named.length === 0 && filter.run !== undefined) return command.execute(session, input);
      if (filter.run !== undefined)
        throw new CairnError('USAGE_INVALID', {
          reason: `a run is named, and --${named[0]} too`,
          hint: 'Give a run, or a filter.',
        });
      return changeAll(session, action, filter);
    },
  };
}

function changeAll(session: Session, action: string, { yes = false, ...input }: ByFilter): Promise<number> {
  const { status, graph, label, since, until, error, dryRun, set, unset, reason, by } = input;
  if (action === 'rm' && dryRun !== true && !yes)
    throw new CairnError('USAGE_INVALID', {
      reason: 'what is removed is gone',
      hint: 'Look at it with --dry-run, then say --yes.',
    });
  const filter = { action, status, graph, label, since, until, error, dryRun, set, unset, reason, by };
  const known = Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined));
  return withApp(session, async (app) => {
    const output = await perform(changeRuns, app, known as unknown as ChangeRunsInput);
    if (session.isJson) session.printJson(output);
    else print(session, output);
    return (output.result?.failed ?? 0) > 0 ? 3 : 0;
  });
}

function print({ screen, commandLine }: Session, output: ChangeRunsOutput): void {
  const { action, count, sample, runId, status: standing, result } = output;
  if (runId === undefined) {
    screen.print(`${action}: ${countOf(count, 'run')}`);
    screen.print(sample.map((one) => printable(`  ${one.runId}  ${one.status}  ${one.graphId}`)));
    if (count > sample.length) screen.print(`  and ${count - sample.length} more`);
    return;
  }
  if (result === undefined)
    return screen.print(`${printable(runId)} is ${standing ?? 'under way'}: ${commandLine('log', runId)}`);
  screen.print(
    `${action}: ${result.done} of ${countOf(count, 'run')}${result.moved > 0 ? `, ${result.moved} went on meanwhile` : ''}${result.failed > 0 ? `, ${result.failed} could not be changed` : ''} (${printable(runId)})`,
  );
  screen.print(result.failures.map((one) => printable(`  ${one.runId}  ${one.code}`)));
}
