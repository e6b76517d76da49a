/** Reads an experiment from a file: data, whose workflows are named, or a module that exports one, which runs code. */
import { dirname, extname, join, relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { readDocument } from '../../dialects/yaml/file/read-document.ts';
import { CairnError } from '../../errors.ts';
import { planData, planModule, type PlannedExperiment } from '../../experiments/experiment-data.ts';
import { readRegularText } from '../process/decode-text.ts';
import { importModule } from '../process/import-module.ts';
import type { GraphLoader } from './graph-loader.ts';
import { requireFile, unreadable } from './unreadable-file.ts';

const dataNames: readonly string[] = ['.yaml', '.yml', '.json'];

/** @throws CONFIG_INVALID, GRAPH_PARSE the file, or one that it names, cannot be read or exports no experiment; GRAPH_INVALID */
export async function loadExperiment(
  cwd: string,
  loadGraph: GraphLoader['loadGraph'],
  file: string,
): Promise<PlannedExperiment> {
  const path = resolve(cwd, file);
  requireFile(path, file);
  if (!dataNames.includes(extname(path))) {
    const module = await importModule(pathToFileURL(path).href);
    const exported = module['experiment'] ?? module['default'];
    if (exported === undefined) throw unreadable(file, 'it exports no experiment');
    return planModule(exported);
  }
  const { document, faults } = readDocument(readRegularText(path), file);
  const [first] = faults;
  if (document === undefined || first?.severity === 'error')
    throw new CairnError('CONFIG_INVALID', { path: first?.place ?? file, reason: first?.message ?? 'it is empty' });
  // Files are named from where the experiment is, known workflows by their names.
  const placeOf = (workflow: string): string =>
    extname(workflow) === '' ? workflow : relative(cwd, join(dirname(path), workflow));
  return planData(document.data, async (workflow, own) => (await loadGraph(placeOf(workflow), own)).graph);
}
