/** What is kept of a graph's runs: as a text of the user's own says, else as the configuration does (D18.3). */
import { readGraphText } from '../engine/commands/find-graph.ts';
import type { EngineOptions } from '../engine/api.ts';
import type { CheckpointSettings } from '../dialects/text-workflow.ts';
import { metaOf } from '../history/stored/stored-meta.ts';
import { isFromText } from '../operations/runs/run-outputs.ts';
import type { CleanUpContext } from '../operations/store/clean-up.ts';
import type { RunRow } from '../ports/store.ts';
import type { FoundConfig } from './config/read-config.ts';
import { mergeSettings } from './keep-clean.ts';
import type { GraphLoader } from './workflows/graph-loader.ts';

/** Where the text of a run is somebody else's, at most so many runs of its graph are looked at for one of the user's own. */
const runsMax = 100;

/** What a text says, and whether it is the user's own. */
interface TextSettings {
  readonly isOwn: boolean;
  readonly settings: CheckpointSettings | undefined;
}

/**
 * Reads what is kept of a run's graph. Settings hold for all runs of a name, and anybody may give that name to a workflow. So what the text of
 * an imported or restored run says, or that of a client, holds only where no run of the name is the user's own. Else the newest of those is
 * asked. A text that a file here has too is the user's own.
 */
export function settingsReader(
  { checkpoint, retention }: Pick<FoundConfig, 'checkpoint' | 'retention'>,
  { isOwnText, readSettings }: Pick<GraphLoader, 'isOwnText' | 'readSettings'>,
  options: EngineOptions,
): CleanUpContext['settingsOf'] {
  const ofConfig = retention === undefined ? checkpoint : { ...checkpoint, retention };
  const read = async (run: RunRow): Promise<TextSettings> => {
    const text = isFromText(run) ? await readGraphText(options, run) : undefined;
    if (text === undefined) return { isOwn: true, settings: undefined };
    return { isOwn: await isOwnText(metaOf(run), text), settings: await readSettings(text) };
  };
  return async (run) => {
    const ofRun = await read(run);
    if (ofRun.isOwn) return mergeSettings(ofConfig, ofRun.settings);
    const { store } = options;
    const { rows } = await store.listRuns({ tenant: run.tenant, graphId: run.graphId, limit: runsMax });
    for (const other of differentTexts(rows)) {
      const { isOwn, settings } = await read(other);
      if (isOwn) return mergeSettings(ofConfig, settings);
    }
    return mergeSettings(ofConfig, rows.length < runsMax ? ofRun.settings : undefined);
  };
}

/** The newest run for each text and way by which it came. */
function differentTexts(rows: readonly RunRow[]): Iterable<RunRow> {
  const byText = new Map<string, RunRow>();
  for (const row of rows.filter(({ isDamaged }) => isDamaged !== true)) {
    const { isImported, isRestored, source, text } = metaOf(row);
    const key = JSON.stringify([row.graphHash, text, isImported, isRestored, source]);
    if (!byText.has(key)) byText.set(key, row);
  }
  return byText.values();
}
