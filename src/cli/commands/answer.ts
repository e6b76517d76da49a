/** `cairn answer` */
import { perform } from '../../operations/declare/perform.ts';
import type { App } from '../../app/open-app.ts';
import { answerWait, type AnswerWaitInput } from '../../operations/waits/answer-wait.ts';
import { nodeNameOf } from '../../operations/waits/find-wait.ts';
import type { FieldsOf } from '../../operations/declare/operation.ts';
import { resumeRun } from '../../operations/runs/resume-run.ts';
import { allowField } from '../app-fields.ts';
import type { Command } from '../command.ts';
import { follow, withApp } from '../live/follow.ts';
import type { Session } from '../session.ts';
import { printable } from '../text/printable.ts';
import { formatInline } from '../text/value.ts';

interface AnswerArguments extends AnswerWaitInput {
  readonly resume?: boolean;
  readonly allow?: readonly string[];
}

const fields: FieldsOf<AnswerArguments> = {
  ...answerWait.input,
  resume: { type: 'flag', description: 'go on with the run at once' },
  allow: allowField,
};

/** @returns the run's id */
async function giveAnswer(
  session: Session,
  app: App,
  { resume = false, allow: _allow, ...input }: AnswerArguments,
): Promise<string> {
  const { runId, waitId, wait, value } = await perform(answerWait, app, input);
  const { screen } = session;
  if (session.isJson && !resume) session.printJson({ runId, waitId, node: wait?.node, value });
  if (!session.isJson) {
    screen.print(`answered ${printable(wait === undefined ? waitId : nodeNameOf(wait))}: ${formatInline(value)}`);
    if (!resume) screen.print(`Go on: ${screen.paint('good', session.commandLine('resume', runId))}`);
  }
  return runId;
}

export const answerCommand: Command<AnswerArguments> = {
  name: answerWait.name,
  summary: answerWait.summary,
  fields,
  details:
    'A question for a text takes the text as it is; for any other the value is JSON where it parses as such. One of the choices may be given by its label. An answer that does not fit is refused, and the question stays open.',
  examples: [
    { line: 'cairn answer 0198c2f4 yes', does: 'the only open question' },
    { line: 'cairn answer 0198c2f4 approve yes --resume', does: 'the question of node approve, and go on' },
    { line: `cairn answer 0198c2f4 review '{"title":"Cairns"}'`, does: 'an answer with parts' },
  ],
  execute(session, input) {
    if (input.resume !== true)
      return withApp(session, async (app) => {
        await giveAnswer(session, app, input);
        return 0;
      });
    return follow(session, async (app) => perform(resumeRun, app, { run: await giveAnswer(session, app, input) }), {
      run: input.run,
      allow: input.allow,
    });
  },
};
