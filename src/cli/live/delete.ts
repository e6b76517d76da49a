/**
 * How every command that deletes goes about it: it says what would go, asks, and deletes. Where nobody can be asked, `--yes` says that it
 * is meant (D22).
 */
import type { App } from '../../app/open-app.ts';
import { CairnError } from '../../errors.ts';
import type { Field, Operation } from '../../operations/contract/operation.ts';
import { perform } from '../../operations/contract/perform.ts';
import { loadPrompts } from '../screen.ts';
import { type Command, ofOperation } from '../command.ts';
import type { Session } from '../session.ts';
import { boundYoungMemory } from '../young-memory.ts';
import { openProgress, type ProgressWords } from './progress.ts';
import { withApp } from './follow.ts';

const yesField: Field = { type: 'flag', description: 'do not ask; needed where nobody can be asked' };

/** What the commands say of it under `--help`. */
const asksFirst = 'It says what would go, and asks.';

/** The options of every operation that deletes. */
interface Deleting {
  readonly dryRun?: boolean;
}

/** What a command adds to its operation. */
interface DeletionWords<Report> extends Required<Pick<Command, 'details' | 'examples'>> {
  /** What is reported meanwhile. Absent: it is done at once. */
  readonly progress?: ProgressWords & {
    /** How many runs a dry run would go through, where only it knows. */
    readonly countOf?: (plan: Report) => number;
  };
  readonly print: (session: Session, report: Report, context: PrintedReport) => Promise<void>;
  /** What the person agrees to: `Remove 2 runs`. Undefined if nothing would go. */
  readonly questionFor: (plan: Report) => string | undefined;
}

/** How a report is printed. */
export interface PrintedReport {
  /** Whether nothing was deleted, and the report says what would go. */
  readonly isDry: boolean;
  readonly now: number;
}

interface Deletion<Report> extends Pick<DeletionWords<Report>, 'questionFor'> {
  /** Deletes. A dry run changes nothing and reports what would go. */
  readonly act: (isDry: boolean) => Promise<Report>;
  readonly print: (report: Report, isDry: boolean) => Promise<void>;
}

/** Makes the command of an operation that deletes. */
export function deletionCommand<Input extends Deleting, Report>(
  operation: Operation<Input, Report, App>,
  { details, examples, progress, print, questionFor }: DeletionWords<Report>,
): Command<Input & { readonly yes?: boolean }> {
  return {
    ...ofOperation(operation, { yes: yesField }),
    runsConfig: true,
    details: `${asksFirst} ${details}`,
    examples,
    execute(session, { yes, ...input }) {
      return withApp(session, async (app) => {
        if (progress !== undefined) boundYoungMemory();
        const line = progress && (await openProgress(session.screen, app, progress));
        const context = line === undefined ? app : { ...app, progressed: line.at };
        return deleteConfirmed(
          session,
          { dryRun: input.dryRun, yes },
          {
            act: async (isDry) => {
              const report = await perform(operation, context, { ...(input as unknown as Input), dryRun: isDry });
              line?.end();
              // What a dry run found is to be done now.
              if (isDry && progress?.countOf !== undefined) line?.expect(progress.countOf(report));
              return report;
            },
            print: (report, isDry) => print(session, report, { isDry, now: app.now() }),
            questionFor,
          },
        );
      });
    },
  };
}

/** Call only if `screen.canAsk`. @returns false if the person said no or pressed Ctrl-C */
async function isConfirmed({ screen }: Session, message: string): Promise<boolean> {
  const { confirm, isCancel } = await loadPrompts();
  const answer = await confirm({ message, initialValue: false });
  if (answer === true) return true;
  screen.note(isCancel(answer) ? 'Stopped: nothing was changed.' : 'Nothing was changed.');
  return false;
}

/** Shows what would go, and asks. @returns whether it is to be done. @throws USAGE_INVALID nobody can be asked */
async function isMeant<Report>(session: Session, { act, print, questionFor }: Deletion<Report>): Promise<boolean> {
  const plan = await act(true);
  if (!session.screen.canAsk || session.isJson)
    throw new CairnError('USAGE_INVALID', {
      reason: 'what is deleted is gone for good, and nobody can be asked here',
      hint: 'See what would go with --dry-run, and delete with --yes.',
    });
  await print(plan, true);
  const question = questionFor(plan);
  return question !== undefined && isConfirmed(session, `${question}? This cannot be undone.`);
}

/** Does all of it. @returns the exit code: that nothing was deleted after all is no fault */
async function deleteConfirmed<Report>(
  session: Session,
  { dryRun, yes }: { readonly dryRun?: boolean | undefined; readonly yes?: boolean | undefined },
  deletion: Deletion<Report>,
): Promise<number> {
  const isDry = dryRun === true;
  if (!isDry && yes !== true && !(await isMeant(session, deletion))) return 0;
  const report = await deletion.act(isDry);
  if (session.isJson) session.printJson(report);
  else await deletion.print(report, isDry);
  return 0;
}
