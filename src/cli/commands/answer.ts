/** `cairn answer`: one question, or several at once. */
import { perform } from '../../operations/contract/perform.ts';
import type { App } from '../../app/open-app.ts';
import { CairnError } from '../../errors.ts';
import { answerWait, type AnswerWaitInput } from '../../operations/waits/answer-wait.ts';
import { answerWaits } from '../../operations/waits/answer-waits.ts';
import {
  assigneesOf,
  findWait,
  isAnswerable,
  isEmptyHappened,
  nodeNameOf,
  type OpenQuestion,
} from '../../operations/waits/find-wait.ts';
import { readQuestions } from '../../operations/waits/give-answers.ts';
import type { FieldsOf } from '../../operations/contract/operation.ts';
import { resumeRun } from '../../operations/runs/resume-run.ts';
import { allowField, type Command, ofOperation, printNext } from '../command.ts';
import type { Session } from '../session.ts';
import { follow, withApp } from '../live/follow.ts';
import { readAssignment } from '../parse.ts';
import { printable } from '../../operations/format/terminal.ts';
import { formatInline } from '../text/value.ts';

interface AnswerArguments extends Pick<AnswerWaitInput, 'run' | 'by'> {
  readonly answer: readonly string[];
  readonly resume?: boolean;
  readonly allow?: readonly string[];
}

const { run, by } = answerWait.input;
const fields: FieldsOf<AnswerArguments> = {
  run,
  answer: {
    type: 'words',
    description:
      'the value, if one question is open; or the question and the value; or QUESTION=VALUE, as often as you like. A question is named by its id, the beginning of it, its node or its name',
    isRequired: true,
    isPositional: true,
  },
  by,
  resume: { type: 'flag', description: 'go on with the run at once' },
  allow: allowField,
};

/**
 * Reads `approve=yes name=cairn` as answers by the names of their questions; undefined if the words are one answer, with or without the
 * question that it is for. The text of an answer may hold a `=` too, so what stands before one must name a question there. Where none is
 * open any more, it is a name all the same: the answer was recorded before, and may be repeated.
 */
async function readSeveral(
  app: App,
  run: string,
  words: readonly string[],
): Promise<Readonly<Record<string, string>> | undefined> {
  const pairs = words.map(readAssignment).filter((pair) => pair !== undefined);
  if (pairs.length < words.length) {
    if (words.length <= 2) return undefined;
    const reason = 'of several answers each is QUESTION=VALUE';
    throw new CairnError('USAGE_INVALID', { reason, hint: 'For example: cairn answer RUN approve=yes name=cairn' });
  }
  if (words.length <= 2) {
    const { runId, waits } = await readQuestions(app, run);
    const isNamed = pairs.some(([name]) => findWait(waits, runId, name) !== undefined);
    if (!isNamed && waits.some(isAnswerable)) return undefined;
  }
  return Object.fromEntries(pairs);
}

/** @returns the run's id */
async function giveAnswers(
  session: Session,
  app: App,
  { run, answer: words, by: person, resume = false }: AnswerArguments,
): Promise<string> {
  const who = person === undefined ? {} : { by: person };
  const { screen, isJson, printJson } = session;
  const report = (waitId: string, wait: OpenQuestion | undefined, value: unknown): void => {
    if (isJson) return;
    const name = wait === undefined ? waitId : nodeNameOf(wait);
    const empty = wait?.kind === 'doubt' && isEmptyHappened(value) ? '; what it gave is recorded as empty' : '';
    screen.print(`answered ${printable(name)}: ${formatInline(value)}${empty}${asOwner(app, wait, person)}`);
  };
  const several = await readSeveral(app, run, words);
  if (several !== undefined) {
    const output = await perform(answerWaits, app, { run, answers: several, ...who });
    for (const { wait, waitId, value } of output.answered) report(waitId, wait, value);
    if (isJson && !resume) printJson(output);
    return goOnWith(session, output.runId, resume);
  }
  const [wait, value] = words.length === 1 ? [undefined, words[0]] : words;
  const output = await perform(answerWait, app, { run, value, ...(wait !== undefined && { wait }), ...who });
  const { runId, waitId } = output;
  report(waitId, output.wait, output.value);
  if (isJson && !resume) printJson({ runId, waitId, node: output.wait?.node, value: output.value });
  return goOnWith(session, runId, resume);
}

/** Says so where an answer counts though its question is for others: the owner of the store gave it. */
function asOwner({ acting }: App, wait: OpenQuestion | undefined, person: string | undefined): string {
  if (acting?.as !== 'owner' || wait?.for === undefined) return '';
  const named = person === undefined ? '' : `, in the name of ${printable(person)}`;
  return `; as the owner of this store${named}: it is for ${printable(assigneesOf(wait))}`;
}

function goOnWith(session: Session, runId: string, resume: boolean): string {
  if (!resume && !session.isJson) printNext(session, answerWait.next?.({ runId, waitId: '', value: undefined }));
  return runId;
}

export const answerCommand: Command<AnswerArguments> = {
  ...ofOperation(answerWait),
  summary: 'answer open questions of a run',
  fields,
  details:
    'A question for a text takes the text as it is; for any other the value is JSON where it parses as such. One of the choices may be given by its label. An answer that does not fit is refused, and the question stays open; of several answers none is taken then.',
  examples: [
    { line: 'cairn answer 0198c2f4 yes', does: 'the only open question' },
    { line: 'cairn answer 0198c2f4 approve yes --resume', does: 'the question of node approve, and go on' },
    { line: 'cairn answer 0198c2f4 approve=yes name=cairn', does: 'two questions, both or neither' },
    { line: `cairn answer 0198c2f4 review '{"title":"Cairns"}'`, does: 'an answer with parts' },
  ],
  runsConfig: true,
  execute(session, input) {
    if (input.resume !== true)
      return withApp(session, async (app) => {
        await giveAnswers(session, app, input);
        return 0;
      });
    return follow(session, async (app) => perform(resumeRun, app, { run: await giveAnswers(session, app, input) }), {
      run: input.run,
      allow: input.allow,
    });
  },
};
