/** `cairn answers` */
import { perform } from '../../operations/declare/perform.ts';
import type { App } from '../../app/open-app.ts';
import { answerWaits, type AnswerWaitsInput } from '../../operations/waits/answer-waits.ts';
import { nodeNameOf } from '../../operations/waits/find-wait.ts';
import type { FieldsOf } from '../../operations/declare/operation.ts';
import { resumeRun } from '../../operations/runs/resume-run.ts';
import { allowField } from '../app-fields.ts';
import type { Command } from '../command.ts';
import { exitCodeOf, reportFailure } from '../failure.ts';
import { follow, withApp } from '../live/follow.ts';
import type { Session } from '../session.ts';
import { printable } from '../text/printable.ts';

interface AnswersArguments extends AnswerWaitsInput {
  readonly resume?: boolean;
  readonly allow?: readonly string[];
}

const fields: FieldsOf<AnswersArguments> = {
  ...answerWaits.input,
  resume: { type: 'flag', description: 'go on with the run at once' },
  allow: allowField,
};

interface Given {
  readonly runId: string;
  /** 0, or that of the first answer that was refused. */
  readonly code: number;
}

async function give(session: Session, app: App, { run, answers, by, resume }: AnswersArguments): Promise<Given> {
  const output = await perform(answerWaits, app, { run, answers, ...(by !== undefined && { by }) });
  const { runId } = output;
  const { screen, isJson } = session;
  if (!isJson) for (const wait of output.answered) screen.print(`answered ${printable(nodeNameOf(wait))}`);
  // The one document that a resume prints is where the run stands.
  if (isJson && resume !== true) session.printJson(output);
  else
    for (const { wait, error } of output.refused) {
      if (!isJson) screen.note(`refused ${printable(nodeNameOf(wait))}`);
      reportFailure(error, screen, isJson);
    }
  const [first] = output.refused;
  return { runId, code: first === undefined ? 0 : exitCodeOf(first.error) };
}

export const answersCommand: Command<AnswersArguments> = {
  name: answerWaits.name,
  summary: answerWaits.summary,
  fields,
  details:
    'Nothing is answered if one of the names fits no open question. An answer that does not fit its question is refused, and the others stand.',
  examples: [
    { line: 'cairn answers 0198c2f4 --answers approve=yes --answers name=cairn --resume', does: 'two, and go on' },
  ],
  async execute(session, input) {
    if (input.resume !== true) return withApp(session, async (app) => (await give(session, app, input)).code);
    let refusal = 0;
    const resume = async (app: App): ReturnType<typeof resumeRun.run> => {
      const { runId, code } = await give(session, app, input);
      refusal = code;
      return perform(resumeRun, app, { run: runId });
    };
    const code = await follow(session, resume, { run: input.run, allow: input.allow });
    return code === 0 ? refusal : code;
  },
};
