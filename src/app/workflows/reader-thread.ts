/** The thread in which texts of clients are read: `foreign-texts.ts` starts it. */
import { parentPort, workerData } from 'node:worker_threads';
import { CairnError } from '../../errors.ts';
import { loadFileDialects } from './file-dialects.ts';
import type { ReaderAnswer, ReaderJob, ReaderSetup } from './foreign-texts.ts';
import { openCatalog, type WorkflowCatalog } from './workflow-catalog.ts';

const { folders, cwd, allow, types, ...config } = workerData as ReaderSetup;
const nodeTypes = types.map((type) => ({ effect: 'external' as const, ...type, run: () => undefined }));
const catalog = openCatalog({
  dialect: await loadFileDialects({ file: undefined, ...config, nodeTypes }, allow),
  folders,
  cwd,
});

parentPort?.on(
  'message',
  (job: ReaderJob) => void answer(catalog, job).then((reply) => parentPort?.postMessage(reply)),
);
parentPort?.postMessage('ready');

async function answer(workflows: WorkflowCatalog, job: ReaderJob): Promise<ReaderAnswer> {
  try {
    return {
      value:
        job.kind === 'check'
          ? await workflows.describeText(job.text)
          : await workflows.convert(job.text, undefined, job.to),
    };
  } catch (error) {
    const { code, data } = CairnError.from(error);
    return { fault: { code, data } };
  }
}
