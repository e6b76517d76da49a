/** The operations that programs are offered, over an app that is opened for them. */
import { refuseUnknownKeys } from '../graph/known-keys.ts';
import type { AnyOperation } from '../operations/contract/operation.ts';
import { checkInput } from '../operations/contract/perform.ts';
import * as operations from '../operations/table.ts';
import { openApp } from './open-app.ts';
import type { Cairn, CairnOptions, Methods } from './cairn.ts';

const optionNames = [
  'cwd',
  'store',
  'blobs',
  'config',
  'workflows',
  'allow',
  'trustsStore',
  'watch',
] as const satisfies readonly (keyof CairnOptions)[];

/** @throws what {@link openApp} throws; CONFIG_INVALID an option is unknown */
export async function openOperations(options: CairnOptions): Promise<Cairn> {
  refuseUnknownKeys('openCairn', options, optionNames);
  const { cwd = process.cwd(), store, blobs, config, ...same } = options;
  const app = await openApp({ ...same, cwd, storeUrl: store, blobsUrl: blobs, configFile: config, runsConfig: true });
  // The values are the program's own: they are masked where they are shown, and a program shows nothing.
  const methodOf = ([name, operation]: readonly [string, AnyOperation]): readonly [string, unknown] => {
    const fields = Object.keys(operation.input);
    const method = async (input: object = {}): Promise<unknown> => {
      refuseUnknownKeys(name, input, fields);
      checkInput(operation.input, input);
      return operation.run(app, input);
    };
    return [name, method];
  };
  return {
    ...(Object.fromEntries(Object.entries<AnyOperation>(operations).map(methodOf)) as unknown as Methods),
    schema: app.readSchema,
    loadGraph: async (file) => (await app.loadGraph(file)).graph,
    engine: app.engine,
    history: app.engine.history,
    close: () => app.close(),
  };
}
