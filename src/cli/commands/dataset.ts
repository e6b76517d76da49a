/** `cairn dataset` */
import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { withHistory } from '../../app/open-store/with-history.ts';
import { createSystemIds } from '../../app/process/process-ids.ts';
import { CairnError } from '../../errors.ts';
import { perform } from '../../operations/contract/perform.ts';
import type { FieldsOf, HistoryContext } from '../../operations/contract/operation.ts';
import {
  changeDataset,
  listDatasets,
  type ChangeDatasetInput,
  type DatasetsOutput,
} from '../../operations/experiments/datasets.ts';
import { countOf } from '../../operations/format/amounts.ts';
import { printable } from '../../operations/format/terminal.ts';
import { formatTime } from '../../operations/format/time.ts';
import { exportRun } from '../../operations/store/move-runs.ts';
import { type Command, ofOperation } from '../command.ts';
import { openOwnFile } from '../files.ts';
import { withApp } from '../live/follow.ts';
import { noteNone, type Session } from '../session.ts';
import { formatTable } from '../text/text-table.ts';

interface DatasetArguments extends ChangeDatasetInput {
  readonly folder?: string;
  readonly fixture?: boolean;
  readonly mask?: readonly string[];
}

const { action, name, ...added } = changeDataset.input;
const fields: FieldsOf<DatasetArguments> = {
  action: { ...action, choices: ['ls', 'show', 'add', 'rm', 'export'] },
  name,
  folder: { type: 'text', description: 'export: where to, a file for each run', isPositional: true },
  ...added,
  fixture: {
    type: 'flag',
    description: 'export: mask what looks like a secret; the files can be replayed in tests',
  },
  mask: { type: 'texts', description: 'export --fixture: a further name whose values are masked' },
};

const columns = [
  { title: 'DATASET', canShrink: true },
  { title: 'RUNS' },
  { title: 'INPUTS' },
  { title: 'CHANGED' },
] as const;

async function print(session: Session, action: string, { datasets }: DatasetsOutput): Promise<void> {
  const { screen } = session;
  if (datasets.length === 0) return noteNone(session, 'No datasets here');
  const rows = datasets.map(({ name, runs, inputs, changedAt }) => [
    printable(name),
    String(runs.length),
    String(inputs.length),
    formatTime(changedAt),
  ]);
  screen.print(
    action === 'rm' ? [`removed ${printable(datasets[0]?.name ?? '')}`] : formatTable(columns, rows, screen),
  );
  if (action === 'show')
    for (const { runs, inputs } of datasets)
      screen.print(...runs.map(printable), ...inputs.map((item) => printable(JSON.stringify(item))));
}

/** A file for each run of a dataset. @returns their names */
async function exportFiles(
  session: Session,
  context: HistoryContext,
  { name = '', folder = '', fixture = false, mask = [] }: DatasetArguments,
): Promise<readonly string[]> {
  const { datasets } = await perform(listDatasets, context, { name });
  mkdirSync(resolve(session.cwd, folder), { recursive: true });
  const files: string[] = [];
  for (const runId of datasets.flatMap(({ runs }) => runs)) {
    const file = join(folder, `${runId.replaceAll(/[^\w.-]/g, '_')}.jsonl`);
    const own = openOwnFile(session.cwd, file);
    try {
      const write = (text: string): Promise<void> => Promise.resolve(own.write(text));
      await perform(exportRun, { ...context, ids: createSystemIds(), write }, { checkpoint: runId, fixture, mask });
      own.commit();
    } catch (error) {
      own.abandon();
      throw error;
    }
    files.push(file);
  }
  return files;
}

export const datasetCommand: Command<DatasetArguments> = {
  ...ofOperation(changeDataset),
  fields,
  details:
    'A dataset names recorded runs, and inputs with what is expected of them, for experiments and tests. Its runs are tagged, so that no cleanup removes them.',
  examples: [
    { line: 'cairn dataset add gold --graph desk --label tier=gold --since 30d --sample 200', does: 'recorded runs' },
    { line: `cairn dataset add gold --input '{"amount":7}' --expected '{"sum":7}'`, does: 'an input that runs anew' },
    { line: 'cairn dataset export gold fixtures --fixture', does: 'files for tests, with secrets masked' },
    { line: 'cairn dataset rm gold', does: 'forget the name; the runs stay' },
  ],
  runsConfig: true,
  execute(session, { folder, fixture, mask, ...input }) {
    if (input.action === 'export') {
      if (input.name === undefined || folder === undefined)
        throw new CairnError('USAGE_INVALID', { reason: 'dataset export takes a name and a folder' });
      return withHistory(session, async (context) => {
        const files = await exportFiles(session, context, {
          ...input,
          folder,
          ...(fixture && { fixture }),
          ...(mask && { mask }),
        });
        if (session.isJson) session.printJson({ files });
        else session.screen.print(`wrote ${countOf(files.length, 'file')} to ${printable(folder)}`);
        return 0;
      });
    }
    return withApp(session, async (app) => {
      const output = await perform(changeDataset, app, input);
      if (session.isJson) session.printJson(output);
      else await print(session, input.action ?? 'ls', output);
      return 0;
    });
  },
};
