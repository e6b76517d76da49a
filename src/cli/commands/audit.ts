/** `cairn audit` */
import { withHistory } from '../../app/open-store/with-history.ts';
import { auditRun, type AuditRunInput } from '../../operations/checkpoints/audit-run.ts';
import { perform } from '../../operations/contract/perform.ts';
import { ofOperation, type Command } from '../command.ts';

export const auditCommand: Command<AuditRunInput> = {
  ...ofOperation(auditRun),
  details:
    'One JSON document a line, oldest first: at (epoch ms), act (start, answer, signal, resume, cancel, fork), by, door, as, and what was said. Without a name of who acted, by is person; the door library is a program that called. What was posted and not taken yet comes last, as isPending.',
  examples: [
    { line: 'cairn audit 0198c2f4', does: 'who did what, when, by which door' },
    { line: 'cairn audit invoice-7 > invoice-7.jsonl', does: 'for the file of the auditor' },
  ],
  execute(session, input) {
    return withHistory(session, async (context) => {
      const { acts } = await perform(auditRun, context, input);
      for (const act of acts) session.printJson(act);
      return 0;
    });
  },
};
