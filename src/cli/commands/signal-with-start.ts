/** `cairn signal-with-start` */
import { perform } from '../../operations/contract/perform.ts';
import type { FieldsOf } from '../../operations/contract/operation.ts';
import { signalWithStart } from '../../operations/waits/signal-with-start.ts';
import { printable } from '../../operations/format/terminal.ts';
import { type Command, ofOperation, printNext, workflowsField } from '../command.ts';
import { readInput, withTypedTexts } from '../files.ts';
import { withApp } from '../live/follow.ts';

type Given = Parameters<typeof signalWithStart.run>[1];

interface SignalWithStartArguments extends Omit<Given, 'input'> {
  readonly input?: Readonly<Record<string, unknown>>;
  readonly inputFile?: string;
  readonly workflows?: readonly string[];
}

const fields: FieldsOf<SignalWithStartArguments> = {
  ...signalWithStart.input,
  input: { type: 'assignments', description: 'a part of what the graph is given if it is started, by its dotted path' },
  inputFile: { type: 'text', description: 'the input as JSON in a file; - is standard input' },
  workflows: workflowsField,
};

export const signalWithStartCommand: Command<SignalWithStartArguments> = {
  ...ofOperation(signalWithStart),
  fields,
  details:
    'In one write: a run that is started has its signal, and of several who send at once one starts it. A run that goes on takes the signal alone, whatever the input. One that has ended takes nothing: the next is sent under another id. A worker or a resume goes on with the run.',
  examples: [
    {
      line: `cairn signal-with-start cart.yaml cart-ann item '{"sku":7}' --id click-81`,
      does: 'the first item starts the run, each is taken once',
    },
  ],
  runsConfig: true,
  execute(session, { input, inputFile, workflows, ...given }) {
    const value = readInput({ ...(input && { input }), ...(inputFile !== undefined && { inputFile }) });
    return withApp(
      session,
      async (app) => {
        const texts = session.texts['input'];
        const { workflow } = texts === undefined ? {} : await app.loadGraph(given.workflow, given.export);
        const typed = workflow === undefined || texts === undefined ? value : withTypedTexts(value, workflow, texts);
        const output = await perform(signalWithStart, app, { ...given, ...(typed !== undefined && { input: typed }) });
        if (session.isJson) session.printJson(output);
        else {
          const { isNew, name, runId } = output;
          session.screen.print(
            `${isNew ? 'started' : 'sent'} ${printable(isNew ? runId : name)} ${isNew ? 'with' : 'to'} ${printable(isNew ? name : runId)}`,
          );
          printNext(session, signalWithStart.next?.(output));
        }
        return 0;
      },
      { workflows, makesStore: true },
    );
  },
};
