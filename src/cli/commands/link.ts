/** `cairn link`: makes the address at which one person answers a question without an account. */
import { readReference } from '../../app/config/config.ts';
import { CairnError } from '../../errors.ts';
import { createAnswerLinks } from '../../http/answer-links.ts';
import type { FieldsOf } from '../../operations/contract/operation.ts';
import { findWait } from '../../operations/waits/find-wait.ts';
import { readQuestions } from '../../operations/waits/give-answers.ts';
import type { Command } from '../command.ts';
import { withApp } from '../live/follow.ts';

interface LinkArguments {
  readonly run: string;
  readonly wait?: string;
  readonly by: string;
  readonly role?: readonly string[];
  readonly hours?: number;
}

const fields: FieldsOf<LinkArguments> = {
  run: { type: 'run', description: 'the run', isRequired: true, isPositional: true },
  wait: {
    type: 'text',
    description: 'the question: its id, the beginning of it, its node or its name; needed if several are open',
    isPositional: true,
  },
  by: { type: 'text', description: 'who answers by it, for the record', isRequired: true },
  role: { type: 'texts', description: 'the roles that the link gives: finance' },
  hours: { type: 'integer', description: 'how long it can be used; default: 24' },
};

const hourMs = 3_600_000;

export const linkCommand: Command<LinkArguments> = {
  name: 'link',
  summary: 'make the address at which one person answers a question, without an account',
  fields,
  details:
    'The configuration says how links are signed and where the server is: answerLinks: { secret: "secret:LINK_SECRET", url: "https://runs.example.org" }. Whoever has the link answers as the person it names: send it to nobody else.',
  examples: [
    { line: 'cairn link refund-9 --by ann@example.org', does: 'for the only open question, a day long' },
    { line: 'cairn link refund-9 approve --by ann --role finance --hours 72', does: 'for one that is for a role' },
  ],
  runsConfig: true,
  execute(session, { run, wait: name, by, role, hours = 24 }) {
    return withApp(session, async (app) => {
      const links = app.config.answerLinks;
      if (links === undefined)
        throw new CairnError('CONFIG_INVALID', {
          path: 'answerLinks',
          reason: 'the configuration does not say how links are signed, and where the server is',
        });
      const secret = await readReference(links.secret);
      const { runId, waits } = await readQuestions(app, run);
      const wait = findWait(waits, runId, name);
      if (wait === undefined) throw new CairnError('WAIT_NOT_FOUND', { runId, wait: name ?? '' });
      const person = { by, ...(role && { roles: role }), validMs: hours * hourMs };
      const link = createAnswerLinks({ secret, url: links.url }).linkFor(wait, person);
      if (session.isJson) session.printJson({ runId, waitId: wait.waitId, by, link });
      else session.screen.print(link);
      return 0;
    });
  },
};
